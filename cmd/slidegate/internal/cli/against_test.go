package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/rules"
)

// planned are rules with every kind of override that an operator can set.
const planned = `
plan: {from: jwt.plan, overrides: "user:{jwt.sub}"}
plans: {pro: {api: 9}}
rules: [{name: api, key: "user:{jwt.sub}", overrides: true, limits: [{algorithm: fixed_window, capacity: %d, window: 60s}]}]
overrides: {api: {"user:written": {capacity: 9}, "user:lapsed": {capacity: 9, until: "%s"}}}
`

// A comparison applies the overrides that are in force today, however old the
// log is.
func TestComparisonUsesOverrides(t *testing.T) {
	table := newTable(t)
	hour, ago := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	at := func(moment time.Time) string { return moment.UTC().Format(time.RFC3339) }
	current, next := file(t, "current.yaml", fmt.Sprintf(planned, 2, at(ago))), file(t, "next.yaml", fmt.Sprintf(planned, 1, at(ago)))
	table.apply(t, current)

	table.set(t, "api", "user:raised", "{capacity: 5}")
	table.set(t, "api", "user:lasting", "{capacity: 5, until: '"+at(hour)+"'}")
	table.set(t, "api", "user:ended", "{capacity: 5, until: '"+at(ago)+"'}")
	table.grant(t, "user:granted", 5, ago, hour)
	table.grant(t, "user:over", 5, ago.Add(-time.Hour), ago)
	table.set(t, "plan", "user:moved", "{plan: pro}")
	table.set(t, "plan", "user:demoted", "{plan: pro, until: '"+at(ago)+"'}")
	table.set(t, "plan", "user:banned", "{deny: true}")
	table.set(t, "api", "user:shut", "{deny: true}")
	table.set(t, "api", "user:stale", "{capacity: {hour: 5}}")
	keys := []string{"banned", "demoted", "ended", "granted", "lapsed", "lasting", "stale", "moved", "over", "plain", "raised", "shut", "written"}
	var log strings.Builder
	for _, key := range keys {
		log.WriteString(strings.Repeat(`{"time":"2015-05-17T10:00:00Z","path":"/","jwt":{"sub":"`+key+`"}}`+"\n", 2))
	}
	recorded := file(t, "day.jsonl", log.String())

	for _, command := range []string{"rules apply --dry-run ", "rules diff "} {
		l := tap(t)
		report := mustReport[published](t, command+next+table.at+"--against "+recorded)
		var changed []string
		for _, k := range report.Against.Keys {
			changed = append(changed, fmt.Sprint(k.Key, " ", k.ToDenied, " ", k.ToAllowed))
		}
		want := []string{"user:demoted 1 0", "user:ended 1 0", "user:lapsed 1 0", "user:over 1 0", "user:plain 1 0", "user:stale 1 0"}
		wantSame(t, command, want, changed)
		if report.StaleOverrides.Count != 1 || report.StaleOverrides.Overrides[0].Key != "user:stale" {
			t.Errorf("%s reports the stale overrides %+v", command, report.StaleOverrides)
		}
		l.want(t, 2*len(keys)-1) // a banned caller causes no lookup for the rule
	}
}

// Requests whose overrides cannot be read are not decided without them, and
// nothing is published.
func TestComparisonThatCannotReadAnOverride(t *testing.T) {
	table := newTable(t)
	files := ruleFiles(t, "capacity: 2, window: 60s", "capacity: 1, window: 60s")
	table.apply(t, files[0])
	table.set(t, "api", "user:broken", `{"capacity": -5}`)
	recorded := func(sub string) string {
		return file(t, "log.jsonl", `{"time":1,"method":"GET","path":"/","jwt":{"sub":"ann"}}`+"\n"+strings.Repeat(`{"time":1,"method":"GET","path":"/","jwt":{"sub":"`+sub+`"}}`+"\n", 20))
	}
	const problem = "slidegate: --against: the requests cannot be compared: rule api, key user:"
	for _, command := range []string{"rules diff ", "rules apply "} {
		place := files[1] + table.at + "--against "
		wantFailure(t, command+place+recorded("broken"), problem+"broken: read override: ", "delete it (`slidegate overrides delete`)", "capacity: -5 is out of range")
		l := tap(t)
		l.down = "api user:bob"
		wantFailure(t, command+place+recorded("bob"), problem+"bob: read override: ", "DynamoDB throttles the table")
		l.want(t, 2) // the first failure ends it
	}
	table.wantInForce(t, 1, -1)
}

// A replay looks overrides up now, and ends them by the log's clock.
func TestReplayUsesOverrides(t *testing.T) {
	table := newTable(t)
	noon := time.Date(2015, time.May, 17, 12, 0, 0, 0, time.UTC)
	table.apply(t, file(t, "rules.yaml", fmt.Sprintf(planned, 1, noon.Format(time.RFC3339))))
	table.set(t, "api", "user:raised", "{capacity: 2}")
	table.set(t, "api", "user:ends", "{capacity: 2, until: 2015-05-17T13:00:00Z}")
	table.set(t, "plan", "user:moved", "{plan: pro}")
	table.grant(t, "user:granted", 2, noon.Add(-time.Hour), noon.Add(time.Hour))
	table.grant(t, "user:later", 2, time.Now(), time.Now().Add(time.Hour))
	var log strings.Builder
	keys := []string{"ends", "granted", "lapsed", "later", "moved", "plain", "raised"}
	for hour := range 24 {
		for _, key := range keys {
			stamp := fmt.Sprintf("2015-05-17T%02d:00:00Z", hour)
			log.WriteString(strings.Repeat(`{"time":"`+stamp+`","path":"/","jwt":{"sub":"`+key+`"}}`+"\n", 3))
		}
	}
	l := tap(t)
	type replayed struct {
		Rules     map[string]struct{ Allowed, Denied int }
		TopDenied []struct {
			Key    string
			Denied int
		} `json:"top_denied"`
	}
	report := mustReport[replayed](t, "replay "+file(t, "day.jsonl", log.String())+table.at)
	got := map[string]int{}
	for _, top := range report.TopDenied {
		got[top.Key] = top.Denied
	}
	want := map[string]int{ // of three requests in each of 24 hours
		"user:raised": 24, "user:plain": 48, "user:later": 48,
		"user:ends": 13 + 2*11, "user:lapsed": 2 * 12, "user:granted": 2 * 22,
	}
	wantSame(t, "denied", want, got)
	l.want(t, 2*len(keys))
}

func TestVersions(t *testing.T) {
	table := newTable(t, "testdata/rules.yaml")
	dir, want := table.transcript(t, "versions"), read(t, "testdata/rules.yaml")
	wantFile(t, filepath.Join(dir, "rules.yaml"), want)
	wantSame(t, "the published text", want, mustRun(t, "rules get 1"+table.at))
}

// Explain and inspect use the overrides and grants that the table has now.
func TestExplainAndInspectATable(t *testing.T) {
	table := newTable(t, "testdata/business.yaml")
	log := recent(t, `"method": "GET", "path": "/v1/x", "jwt": {"sub": "7", "tenant": "zeta"}`, 3)
	table.transcriptOfWaits(t, "explain-table", "LOG", log)
}

// An override in the table of a rule that takes none from there is ignored, by
// explain as by limiters.
func TestExplainARuleThatTakesNoOverrides(t *testing.T) {
	table := newTable(t, "testdata/written.yaml")
	table.set(t, "per-ip", "ip:203.0.113.9", `{"deny": true}`)
	for ip, want := range map[string]string{"203.0.113.9": "override  none for ip:203.0.113.9", "198.51.100.7": "override  capacity 100 (in the rules)"} {
		got := mustRun(t, "explain GET / --ip "+ip+table.at)
		if !strings.HasPrefix(got, "GET /: allowed\n") || !strings.Contains(got, want) {
			t.Errorf("%s: printed\n%s\nwant %q in it", ip, got, want)
		}
	}
}

// Where an override cannot be read, explain says so, and what limiters do then.
func TestExplainAnUnreadableOverride(t *testing.T) {
	table := newTable(t, "testdata/unreadable.yaml")
	for rule, key := range map[string]string{"local": "tenant:t", "pass": "tenant:t", "refuse": "tenant:t", rules.PlanOverrides: "user:7"} {
		table.set(t, rule, key, `{"capacty": 5}`)
	}
	table.set(t, rules.PlanOverrides, "user:8", `{"plan": "gold"}`)
	table.transcript(t, "explain-unreadable")
}

// recent writes a log of requests of five seconds ago, each an object with these
// fields. A wait that began just now could be a minute to the tenth of a second,
// and would be written as one.
func recent(t *testing.T, fields string, requests int) (path string) {
	t.Helper()
	line := fmt.Sprintf("{\"time\": %d, %s}\n", time.Now().Add(-5*time.Second).Unix(), fields)
	return file(t, "now.jsonl", strings.Repeat(line, requests))
}

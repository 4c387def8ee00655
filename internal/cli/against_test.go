package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/dynamotest"
	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/ruletable"
	"github.com/slidegate/slidegate/internal/yamlfile"
)

// operated is a table in which operators have set overrides, and its address.
type operated struct {
	*ruletable.Table
	place string
}

func newOperated(t *testing.T) operated {
	t.Helper()
	client := dynamotest.Connect(t)
	name := rulesTable(t, client)
	return operated{ruletable.New(client, name), "dynamodb://" + name}
}

func (o operated) set(t *testing.T, rule, key, document string) {
	t.Helper()
	note := ruletable.Note{Who: "jo", When: time.Now()}
	if !json.Valid([]byte(document)) {
		var err error
		if document, err = overrideJSON(document); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.SetOverride(t.Context(), ruletable.Override{Rule: rule, Key: key, Document: document, Note: note}); err != nil {
		t.Fatal(err)
	}
}

func (o operated) grant(t *testing.T, key string, add int64, from, until time.Time) {
	t.Helper()
	if err := o.Grant(t.Context(), "api", key, ruletable.Grant{Add: add, Until: until, Note: ruletable.Note{Who: "jo", When: from}}); err != nil {
		t.Fatal(err)
	}
}

// file writes a file of the test.
func file(t *testing.T, name, content string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// planned are rules of which an operator can change all that there is to change.
const planned = `
plan: {from: jwt.plan, overrides: "user:{jwt.sub}"}
plans: {pro: {api: 9}}
rules: [{name: api, key: "user:{jwt.sub}", overrides: true, limits: [{algorithm: fixed_window, capacity: %d, window: 60s}]}]
overrides: {api: {"user:written": {capacity: 9}, "user:lapsed": {capacity: 9, until: "%s"}}}
`

// What a publish would change is told by the overrides that hold today, however old the log is.
func TestComparisonKnowsOverrides(t *testing.T) {
	table := newOperated(t)
	hour, ago := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	at := func(moment time.Time) string { return moment.UTC().Format(time.RFC3339) }
	current, next := file(t, "current.yaml", fmt.Sprintf(planned, 2, at(ago))), file(t, "next.yaml", fmt.Sprintf(planned, 1, at(ago)))
	mustRun(t, "rules", "apply", current, "--rules", table.place)

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
		log.WriteString(strings.Repeat(`{"time":"2015-05-17T10:00:00Z","jwt":{"sub":"`+key+`"}}`+"\n", 2))
	}
	recorded := file(t, "day.jsonl", log.String())

	for _, command := range [][]string{{"apply", "--dry-run"}, {"diff"}} {
		l := tap(t)
		var report operator.PublishReport
		printed := mustRun(t, append([]string{"rules", command[0], next, "--rules", table.place, "--against", recorded, "--json"}, command[1:]...)...)
		if err := json.Unmarshal([]byte(printed), &report); err != nil {
			t.Fatal(err)
		}
		var changed []string
		for _, k := range report.Against.Keys {
			changed = append(changed, fmt.Sprint(k.Key, " ", k.ToDenied, " ", k.ToAllowed))
		}
		want := []string{"user:demoted 1 0", "user:ended 1 0", "user:lapsed 1 0", "user:over 1 0", "user:plain 1 0", "user:stale 1 0"}
		if diff := cmp.Diff(want, changed); diff != "" {
			t.Errorf("rules %s (-want +got):\n%s", command[0], diff)
		}
		if report.StaleOverrides.Count != 1 || report.StaleOverrides.Overrides[0].Key != "user:stale" {
			t.Errorf("rules %s reports the stale overrides %+v", command[0], report.StaleOverrides)
		}
		l.want(t, 2*len(keys)-1) // what a banned caller would get from the rule is of no interest
	}
}

// Both sides share what is looked up, and a key that comes again is not looked up again.
func TestComparisonLooksUpEachKeyOnce(t *testing.T) {
	const keys, requests = 2_000, 10_000
	table := newOperated(t)
	files := ruleFiles(t, "capacity: 2, window: 60s", "capacity: 1, window: 60s")
	mustRun(t, "rules", "apply", files[0], "--rules", table.place)
	var log strings.Builder
	for i := range requests {
		fmt.Fprintf(&log, `{"time":%d,"jwt":{"sub":"%d"}}`+"\n", i*60, i%keys) // 200 hours of it, in which a cache would look again
	}
	l := tap(t)
	mustRun(t, "rules", "diff", files[1], "--rules", table.place, "--against", file(t, "long.jsonl", log.String()))
	l.want(t, keys)
}

// Requests whose overrides cannot be read are not judged without them, and nothing is published.
func TestComparisonThatCannotReadAnOverride(t *testing.T) {
	table := newOperated(t)
	files := ruleFiles(t, "capacity: 2, window: 60s", "capacity: 1, window: 60s")
	mustRun(t, "rules", "apply", files[0], "--rules", table.place)
	table.set(t, "api", "user:broken", `{"capacity": -5}`)
	recorded := func(sub string) string {
		return file(t, "log.jsonl", `{"time":1,"jwt":{"sub":"ann"}}`+"\n"+strings.Repeat(`{"time":1,"jwt":{"sub":"`+sub+`"}}`+"\n", 20))
	}
	const said = "slidegate: --against: the requests cannot be compared: rule api, key user:"
	for _, command := range []string{"rules diff ", "rules apply "} {
		place := files[1] + " --rules " + table.place + " --against "
		wantFailure(t, command+place+recorded("broken"), said+"broken: read override: ", "delete it (`slidegate overrides delete`)", "capacity: -5 is out of range")
		l := tap(t)
		l.down = "api user:bob"
		wantFailure(t, command+place+recorded("bob"), said+"bob: read override: ", "DynamoDB throttles the table")
		l.want(t, 2) // the first failure ends it
	}
	if got := current(t, table.Table); got != 1 {
		t.Errorf("version %d is in force", got)
	}
}

// A replay goes by the log's clock in all but when it looks.
func TestReplayKnowsOverrides(t *testing.T) {
	table := newOperated(t)
	noon := time.Date(2015, time.May, 17, 12, 0, 0, 0, time.UTC)
	mustRun(t, "rules", "apply", file(t, "rules.yaml", fmt.Sprintf(planned, 1, noon.Format(time.RFC3339))), "--rules", table.place)
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
			log.WriteString(strings.Repeat(`{"time":"`+stamp+`","jwt":{"sub":"`+key+`"}}`+"\n", 3))
		}
	}
	l := tap(t)
	var report struct {
		Rules     map[string]struct{ Allowed, Denied int }
		TopDenied []struct {
			Key    string
			Denied int
		} `json:"top_denied"`
	}
	printed := mustRun(t, "replay", file(t, "day.jsonl", log.String()), "--rules", table.place, "--json")
	if err := json.Unmarshal([]byte(printed), &report); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, top := range report.TopDenied {
		got[top.Key] = top.Denied
	}
	want := map[string]int{ // of three requests in each of 24 hours
		"user:raised": 24, "user:plain": 48, "user:later": 48,
		"user:ends": 13 + 2*11, "user:lapsed": 2 * 12, "user:granted": 2 * 22,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("denied (-want +got):\n%s", diff)
	}
	l.want(t, 2*len(keys))
}

// A replay whose overrides cannot be read fails, as one does whose counters cannot be.
func TestReplayThatCannotReadAnOverride(t *testing.T) {
	table := newOperated(t)
	mustRun(t, "rules", "apply", ruleFiles(t, "capacity: 2, window: 60s")[0], "--rules", table.place)
	table.set(t, "api", "user:broken", `{"capacity": -5}`)
	r := slidegate(t.Context(), `{"time":1,"jwt":{"sub":"broken"}}`, "replay", "-", "--format", "jsonl", "--rules", table.place)
	if want := "slidegate: 1 of 1 requests were decided by on_error"; r.code != 1 || !strings.HasPrefix(r.stderr, want) ||
		!strings.Contains(r.stderr, "capacity: -5 is out of range") {
		t.Errorf("exit %d, said %q", r.code, r.stderr)
	}
	l := tap(t)
	l.down = "api user:bob"
	for lines, want := range map[int]string{
		1:  "slidegate: 1 of 1 requests were decided by on_error, because the store failed; first: rule api, key user:bob: read override: ",
		11: "slidegate: gave up: the store failed 10 times running; the store failed first with: rule api, key user:bob: read override: ",
	} {
		log := strings.Repeat(`{"time":1,"jwt":{"sub":"bob"}}`+"\n", lines)
		r := slidegate(t.Context(), "", "replay", file(t, "log.jsonl", log), "--rules", table.place)
		if r.code != 1 || !strings.HasPrefix(r.stderr, want) || !strings.Contains(r.stderr, "DynamoDB throttles the table") {
			t.Errorf("%d lines: exit %d, said %q", lines, r.code, r.stderr)
		}
	}
}

// Without the secret of hashed keys no override would be found: nothing is judged then.
func TestRecordedTrafficNeedsTheSecretOfKeys(t *testing.T) {
	const hashed = "hash_secret: {env: AGAINST_KEYS, check: c4bbcb1f}\n" + // of "correct horse battery staple"
		"rules: [{name: api, key: 'user:{jwt.sub}', hash: true, overrides: true, limits: [{capacity: 1, window: 60s}]}]\n"
	table := newOperated(t)
	rules := file(t, "rules.yaml", hashed)
	t.Setenv("AGAINST_KEYS", "correct horse battery staple")
	mustRun(t, "rules", "apply", rules, "--rules", table.place)
	mustRun(t, "overrides", "set", "api", "user:ann", "--capacity", "5", "--why", "x", "--rules", table.place)
	log := file(t, "log.jsonl", strings.Repeat(`{"time":1,"jwt":{"sub":"ann"}}`+"\n", 2))
	replayed := "replay " + log + " --json --rules " + table.place
	if got := mustRun(t, strings.Fields(replayed)...); !strings.Contains(got, `"denied": 0`) {
		t.Errorf("printed %q", got)
	}
	t.Setenv("AGAINST_KEYS", "")
	wantFailure(t, replayed, "hash_secret", "set the environment variable AGAINST_KEYS")
	wantFailure(t, "rules diff "+rules+" --rules "+table.place+" --against "+log, "--against: the rules in force: hash_secret", "set the environment variable AGAINST_KEYS")
}

// overrideJSON returns the JSON of an override that is written as YAML.
func overrideJSON(document string) (string, error) {
	o := &ruledoc.Override{}
	if _, err := yamlfile.Decode("", []byte(document), o); err != nil {
		return "", err
	}
	data, err := ruledoc.Marshal(o)
	return string(data), err
}

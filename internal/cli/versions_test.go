package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/dynamotest"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

func TestVersions(t *testing.T) {
	client := dynamotest.Connect(t)
	empty := rulesTable(t, client)
	const at = " --rules dynamodb://TABLE"
	golden(t, "versions-empty", tableSession(t, empty,
		"rules list"+at, "rules list --json"+at, "rules history"+at, "rules history --json"+at, "rules get"+at, "rules rollback 1 --why x"+at,
		"overrides list api"+at,
	))
	table, place := published(t, client, "testdata/rules.yaml")
	const say = at + " --who jo --why "
	file := filepath.Join(t.TempDir(), "rules.yaml")
	golden(t, "versions", strings.ReplaceAll(tableSession(t, table,
		"rules apply testdata/hourly.yaml"+say+"'launch week'",
		"rules list"+at,
		"rules list --limit 1 --json"+at,
		"rules get"+at,
		"rules get 1 --json"+at,
		"rules get 7"+at,
		"rules get 1 --output "+file+at,
		"rules rollback 1"+say+"'2 limits the probes'",
		"rules rollback 1"+say+"again",
		"rules rollback 2 --json"+say+"'the probes are mended'",
		"rules rollback 7"+say+"typo",
		"rules list"+at,
		"rules history"+at,
		"rules history --limit 2 --json"+at,
	), filepath.Dir(file), "DIR"))
	want, err := os.ReadFile("testdata/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, file, string(want))
	if got := mustRun(t, "rules", "get", "1", "--rules", place); got != string(want) {
		t.Errorf("printed %q, want what was published", got)
	}
}

// Explain and inspect see what the table says, with the overrides and grants as they are now.
func TestExplainAndInspectATable(t *testing.T) {
	client := dynamotest.Connect(t)
	table, _ := published(t, client, "testdata/business.yaml")
	counters := dynamotest.Counters(t, client)
	const at = " --rules dynamodb://TABLE"
	const say = at + " --who jo --why x"
	explain := "explain POST /v1/chat -H 'X-Tokens: 900' --claim sub=7 --claim tenant=zeta --store dynamodb://COUNTERS" + at
	inspect := "inspect 'tenant:zeta|user:7' --claim sub=7 --store dynamodb://COUNTERS" + at
	commands := []string{
		"overrides set api tenant:zeta --capacity 3" + say,
		"grant chat.requests user:7 +5 --for 1h" + say,
		"replay LOG --store dynamodb://COUNTERS" + at,
		"overrides set plan user:7 --plan pro" + say,
		explain, inspect, "inspect user:7 --claim sub=7 --store dynamodb://COUNTERS" + at, inspect + " --json",
		"overrides set api tenant:zeta --limits '[{\"capacity\": 50, \"window\": \"1h\"}]'" + say, explain, inspect,
		"reset api 'tenant:zeta|user:7' --store dynamodb://COUNTERS" + at,
		"overrides set api tenant:zeta --unlimited" + say, explain, inspect, inspect + " --json",
		"overrides set api tenant:zeta --deny --for 1h" + say, explain, inspect,
		"explain POST /v1/chat --claim sub=7 --claim tenant=zeta --at 2199-01-01T00:00:00Z --store dynamodb://COUNTERS" + at,
		"reset export tenant:zeta --claim billing_day=15 --json --store dynamodb://COUNTERS" + at,
	}
	log := recent(t, `"path": "/v1/x", "jwt": {"sub": "7", "tenant": "zeta"}`, 3)
	names := strings.NewReplacer("COUNTERS", counters, "LOG", log)
	for i := range commands {
		commands[i] = names.Replace(commands[i])
	}
	text := strings.NewReplacer(counters, "COUNTERS", log, "LOG").Replace(tableSession(t, table, commands...))
	golden(t, "explain-table", gaps.ReplaceAllString(waits.ReplaceAllString(seconds.ReplaceAllString(text, "$1: 60"), "60s"), "  "))
}

// An override in the table of a rule that takes none from there is as good as missing, for explain as for limiters.
func TestExplainARuleThatTakesNoOverrides(t *testing.T) {
	client := dynamotest.Connect(t)
	table, place := published(t, client, "testdata/written.yaml")
	left := ruletable.Override{Rule: "per-ip", Key: "ip:203.0.113.9", Document: `{"deny": true}`, Note: ruletable.Note{Who: "jo", When: time.Now()}}
	if err := ruletable.New(client, table).SetOverride(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	for ip, want := range map[string]string{"203.0.113.9": "override  none for ip:203.0.113.9", "198.51.100.7": "override  capacity 100 (in the rules)"} {
		got := mustRun(t, "explain", "GET", "/", "--ip", ip, "--rules", place)
		if !strings.HasPrefix(got, "GET /: allowed\n") || !strings.Contains(got, want) {
			t.Errorf("%s: printed\n%s\nwant %q in it", ip, got, want)
		}
	}
}

// Where an override cannot be read, explain says so, and what limiters do then.
func TestExplainAnUnreadableOverride(t *testing.T) {
	client := dynamotest.Connect(t)
	table, _ := published(t, client, "testdata/unreadable.yaml")
	for rule, key := range map[string]string{"local": "tenant:t", "pass": "tenant:t", "refuse": "tenant:t", rules.PlanOverrides: "user:7"} {
		broken := ruletable.Override{Rule: rule, Key: key, Document: `{"capacty": 5}`, Note: ruletable.Note{Who: "jo", When: time.Now()}}
		if err := ruletable.New(client, table).SetOverride(t.Context(), broken); err != nil {
			t.Fatal(err)
		}
	}
	gone := ruletable.Override{Rule: rules.PlanOverrides, Key: "user:8", Document: `{"plan": "gold"}`, Note: ruletable.Note{Who: "jo", When: time.Now()}}
	if err := ruletable.New(client, table).SetOverride(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	const who = " --claim tenant=t --claim plan=pro --rules dynamodb://TABLE --claim sub="
	golden(t, "explain-unreadable", tableSession(t, table,
		"explain GET /local"+who+"7", "explain GET /allow"+who+"9", "explain GET /deny"+who+"9", "explain GET /deny --json"+who+"9", "explain GET /allow"+who+"8",
	))
}

// What depends on the moment of the test: times to wait, and so the widths of columns.
var (
	waits = regexp.MustCompile(`\b(\d+m)?\d+(\.\d+)?s\b`)
	gaps  = regexp.MustCompile(` {2,}`)
)

// recent writes a log of requests that came five seconds ago, each an object with these fields. A wait for one that came just now
// may be a minute to the tenth of a second, and be spelt as one.
func recent(t *testing.T, fields string, requests int) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "now.jsonl")
	line := fmt.Sprintf("{\"time\": %d, %s}\n", time.Now().Add(-5*time.Second).Unix(), fields)
	if err := os.WriteFile(path, []byte(strings.Repeat(line, requests)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

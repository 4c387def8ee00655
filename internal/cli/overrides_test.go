package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/dynamotest"
	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// published returns a table that holds a rules file.
func published(t *testing.T, client *dynamo.Client, file string) (table, place string) {
	t.Helper()
	table = rulesTable(t, client)
	mustRun(t, "rules", "apply", file, "--rules", "dynamodb://"+table, "--who", "jo", "--why", "first rules")
	return table, "dynamodb://" + table
}

var (
	stamps  = regexp.MustCompile(`\b20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	leftFor = regexp.MustCompile(`("left_s":) [1-9][0-9.e+]*`)
)

// tableSession runs commands on a table and returns what they print, without what differs from run to run.
func tableSession(t *testing.T, table string, commands ...string) string {
	t.Helper()
	for i := range commands {
		commands[i] = strings.ReplaceAll(commands[i], "TABLE", table)
	}
	text := transcript(t.Context(), "", commands...)
	return leftFor.ReplaceAllString(stamps.ReplaceAllString(strings.ReplaceAll(text, table, "TABLE"), "2026-01-01T00:00:00Z"), "$1 60")
}

func TestOverrides(t *testing.T) {
	table, _ := published(t, dynamotest.Connect(t), "testdata/business.yaml")
	const at = " --rules dynamodb://TABLE"
	const set = at + " --who jo --why 'ticket 7'"
	golden(t, "overrides", tableSession(t, table,
		"overrides get api tenant:acme"+at,
		"overrides get api tenant:zeta"+at,
		"overrides set api tenant:zeta --capacity 20000"+set,
		"overrides set api tenant:zeta --capacity 10,000 --for 1h"+set,
		"overrides set api tenant:zeta --unlimited --json"+set,
		"overrides get api tenant:zeta"+at,
		"overrides get api tenant:zeta --json"+at,
		"overrides set chat 'user:auth0|7' --capacity requests=60 --capacity tokens=200000"+set,
		"overrides set chat user:8 --limits '[{\"capacity\": 5, \"window\": \"1s\"}]'"+set,
		"overrides set plan user:9 --plan enterprise --until 2199-12-31T00:00:00Z"+set,
		"overrides set plan user:10 --deny"+set,
		"overrides list chat"+at,
		"overrides list chat --json --prefix user:a"+at,
		"overrides list plan --limit 1"+at,
		"overrides list plan --prefix user:9"+at,
		"overrides list plan --prefix zz"+at,
		"overrides list anonymous"+at,
		"overrides delete chat 'user:auth0|7'"+set,
		"overrides delete chat user:auth0%7C7"+set,
		"overrides delete api tenant:acme"+set,
		"rules history --limit 3"+at,

		"overrides set chat user:7 --capacity 60"+set,
		"overrides set chat user:7 --capacity request=60"+set,
		"overrides set chat user:7 --capacity request=60 --capacity token=7"+set,
		"overrides set chat user:7 --plan pro"+set,
		"overrides set plan user:7 --plan gold"+set,
		"overrides set plan user:7 --capacity 5"+set,
		"overrides set chat tenant:7 --deny"+set,
		"overrides set anonymous ip:203.0.113.9 --deny"+set,
		"overrides set nobody x --deny"+set,
		"overrides set chat user:7 --limits '{\"capacity\": 5}'"+set,
		"overrides set chat user:7 --limits '[{\"capacity\": 5, \"windw\": \"1s\"}]'"+set,
		"overrides list nobody"+at,
	))
}

// A command line that makes no sense is refused before anything is asked of a table.
func TestOverridesUsage(t *testing.T) {
	signedOut(t)
	const rest = " --why x --rules dynamodb://slidegate"
	golden(t, "overrides-usage", transcript(t.Context(), "",
		"overrides set api", "overrides set api k --deny --rules dynamodb://slidegate", "overrides set api k"+rest, "overrides set api k --deny --unlimited"+rest,
		"overrides set api k --capacity"+rest, "overrides set api k --capacity x"+rest, "overrides set api k --capacity =5"+rest,
		"overrides set api k --capacity 5 --capacity 6"+rest, "overrides set api k --capacity a=5 --capacity 6"+rest,
		"overrides set api k --capacity 6 --capacity a=5"+rest, "overrides set api k --capacity a=5 --capacity a=6"+rest,
		"overrides set api k --limits [{capacity:5}]"+rest, "overrides set api k --deny --for 1h --until 2199-01-01T00:00:00Z"+rest,
		"overrides set api k --deny --until 2001-01-01T00:00:00Z"+rest, "overrides set api k --deny --until tomorrow"+rest,
		"overrides set api k --deny --until 9999-12-31T23:59:59.5Z"+rest,
		"overrides set api k --deny --for 0s"+rest, "overrides set api k --deny --for -1h"+rest, "overrides set api k --deny --for 9999999d"+rest,
		"overrides get api k --rules rules.yaml", "overrides list", "overrides list api --limit -1 --rules dynamodb://slidegate",
		"overrides delete api k --rules dynamodb://slidegate", "overrides import api", "overrides import api f --format xml"+rest,
		"overrides import api testdata/day.log --rules dynamodb://slidegate",
		"grant api k", "grant api k +5 --rules dynamodb://slidegate", "grant api k 5 --for 1h"+rest, "grant api k +0 --for 1h"+rest,
		"grant api k +5"+rest, "grant plan k +5 --for 1h"+rest, "grant api k +99999999999 --for 1h"+rest,
		"rules list --limit -1 --rules dynamodb://slidegate", "rules get x --rules dynamodb://slidegate", "rules get 0 --rules dynamodb://slidegate",
		"rules rollback 1 --rules dynamodb://slidegate", "rules rollback --why x", "rules history now", "rules history --rules rules.yaml",
		"rules import", "rules import f --format xml", "rules import testdata/rules.yaml", "rules import testdata/rules.yaml --format xml",
		"rules import testdata/rules.yaml --format envoy --keys a=b", "rules import testdata/rules.yaml --format envoy --map x",
		"rules import testdata/rules.yaml --format usage-plans --map a=b", "rules import testdata/rules.yaml --format usage-plans --keys a",
		"explain GET", "explain GET /", "explain GET / --rules x --store memory", "explain GET / --rules x --at noon", "explain GET / --rules x --at 0001-01-01T00:00:00Z",
		"inspect k --rules x --store redis://h --claim x",
	))
}

func TestGrant(t *testing.T) {
	client := dynamotest.Connect(t)
	table, _ := published(t, client, "testdata/business.yaml")
	const at = " --rules dynamodb://TABLE"
	const given = " --for 1h --who jo --why 'ticket 83'" + at
	golden(t, "grant", tableSession(t, table,
		"grant api tenant:zeta +500"+given,
		"grant api tenant:zeta +1,000 --json"+given,
		"grant api tenant:acme +1"+given,
		"grant chat.tokens 'user:auth0|7' +1000"+given,
		"overrides get api tenant:zeta"+at,
		"overrides get api tenant:zeta --json"+at,
		"overrides list api"+at,
		"overrides set api tenant:zeta --capacity 50 --why 'ticket 84' --who jo"+at,
		"rules history --limit 2"+at,
		"overrides delete chat user:auth0%7C7 --why 'ticket 85' --who jo"+at,
		"rules history --limit 1"+at, "rules history --limit 1 --json"+at,

		"grant chat user:7 +1"+given,
		"grant chat.token user:7 +1"+given,
		"grant api tenant:probe +1"+given,
		"grant chat user:auth0%7C666 +1"+given,
		"grant chat.requests 'user:auth0|666' +1"+given,
		"grant api.x tenant:zeta +1"+given,
		"grant api.x tenant:slow +1"+given,
		"grant anonymous ip:203.0.113.9 +1"+given,
		"grant api user:7 +1"+given,
		"grant api tenant:huge +4294967295"+given,
		"grant api tenant:huge +4294967295"+given,
	))
}

// Keys that clients fill in are never raised.
func TestGrantToAClientsKey(t *testing.T) {
	table, _ := published(t, dynamotest.Connect(t), "testdata/partners.yaml")
	const at = " --why x --who jo --rules dynamodb://TABLE"
	golden(t, "grant-client", tableSession(t, table,
		"grant partners partner:acme +5 --for 1h"+at,
		"overrides set partners partner:acme --capacity 500"+at,
		"overrides set partners partner:acme --unlimited"+at,
		"overrides set partners partner:acme --capacity 5"+at,
	))
}

// What has outlived its rule, or cannot be read, can still be looked at and deleted.
func TestOrphans(t *testing.T) {
	client := dynamotest.Connect(t)
	table, place := published(t, client, "testdata/business.yaml")
	mustRun(t, "overrides", "set", "api", "tenant:zeta", "--capacity", "5", "--why", "x", "--rules", place)
	stored := ruletable.New(client, table)
	broken := ruletable.Override{Rule: "api", Key: "tenant:broken", Document: `{"capacty": 5}`, Note: ruletable.Note{Who: "jo", Why: "by hand", When: time.Unix(1_800_000_000, 0)}}
	if err := stored.SetOverride(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	golden(t, "orphans", tableSession(t, table,
		"overrides list api --rules dynamodb://TABLE",
		"overrides get api tenant:broken --rules dynamodb://TABLE",
		"overrides delete api tenant:broken --why typo --rules dynamodb://TABLE",
		"rules apply testdata/hourly.yaml --rules dynamodb://TABLE",
		"overrides get api tenant:zeta --rules dynamodb://TABLE",
		"overrides delete api tenant:zeta --why 'no such rule' --rules dynamodb://TABLE",
		"overrides delete api tenant:zeta --why 'no such rule' --rules dynamodb://TABLE",
	))
}

func TestOverridesImport(t *testing.T) {
	client := dynamotest.Connect(t)
	table, place := published(t, client, "testdata/business.yaml")
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := file("plain.json", `{"tenant:a|b": {"time_window_sec": 1, "capacity": 5, "granularity_sec": 0.1},
		"tenant:c": {"time_window_sec": 60, "capacity": 7, "granularity_sec": 1}}`)
	bad := file("bad.json", `{"tenant:a": {"time_window_sec": 1, "capacity": 0, "granularity_sec": 1}, "user:7": {"time_window_sec": 60, "capacity": 7, "granularity_sec": 1}}`)
	lines := file("more.jsonl", `{"key": "user:7", "document": {"plan": "pro"}}

{"key": "user:auth0|8", "document": "{deny: true, why: ticket 81}", "who": "jo"}
{"key": "user:9", "grants": [{}]}
`)
	badLines := file("bad.jsonl", `{"key": "user:7", "document": {"plan": "gold"}}
{}
[]
{"key": "user:7", "document": {"deny": true}}
{"key": "user:8"}
{"key": "tenant:8", "document": {"deny": true}}
{"key": "user:9", "document": {"deni": true, "why": 7}}
`+strings.Repeat(`{"key": "user:10", "document": 7}`+"\n", operator.ErrorsShown))
	names := strings.NewReplacer(dir+string(filepath.Separator), "")
	const at = " --rules dynamodb://TABLE"
	golden(t, "overrides-import", names.Replace(tableSession(t, table,
		"overrides import api "+plain+" --dry-run"+at,
		"overrides list api"+at,
		"overrides import api "+plain+" --who jo --why 'old limiter'"+at,
		"overrides list api"+at,
		"overrides import plan "+lines+" --who jo --why 'old limiter' --json"+at,
		"overrides list plan --json"+at,
		"rules history --limit 2"+at,
		"overrides import api "+bad+" --why x"+at,
		"overrides import chat "+plain+" --why x"+at,
		"overrides import plan "+badLines+" --why x"+at,
		"overrides import plan "+plain+" --why x"+at,
		"overrides import nobody "+plain+" --why x"+at,
		"overrides import api "+dir+"/none.json --why x"+at,
		"overrides list api"+at,
	)))

	// What is listed can be imported again.
	listed := mustRun(t, "overrides", "list", "plan", "--json", "--rules", place)
	again, _ := published(t, client, "testdata/business.yaml")
	mustRun(t, "overrides", "import", "plan", file("listed.jsonl", listed), "--why", "copy", "--rules", "dynamodb://"+again)
	documents := func(text string) map[string]string {
		found := map[string]string{}
		for line := range strings.Lines(text) {
			var o operator.ListedOverride
			if err := json.Unmarshal([]byte(line), &o); err != nil {
				t.Fatal(err)
			}
			found[o.Key] = o.Document
		}
		return found
	}
	if diff := cmp.Diff(documents(listed), documents(mustRun(t, "overrides", "list", "plan", "--json", "--rules", "dynamodb://"+again))); diff != "" {
		t.Errorf("a copy differs (-want +got):\n%s", diff)
	}
}

func TestOverridesImportMany(t *testing.T) {
	client := dynamotest.Connect(t)
	_, place := published(t, client, "testdata/business.yaml")
	const many = 2000
	var text strings.Builder
	for i := range many {
		fmt.Fprintf(&text, "{\"key\": \"user:%d\", \"document\": {\"plan\": \"pro\"}}\n", i)
	}
	path := filepath.Join(t.TempDir(), "many.jsonl")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := mustRun(t, "overrides", "import", "plan", path, "--why", "x", "--rules", place), "2,000 overrides of plan imported\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	if n := strings.Count(mustRun(t, "overrides", "list", "plan", "--rules", place), "\n"); n != many {
		t.Errorf("%d are listed, want %d", n, many)
	}
}

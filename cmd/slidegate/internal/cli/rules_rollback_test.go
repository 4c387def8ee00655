package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/rulescmd"
)

// A dry run of a rollback shows what a dry run of apply with that version's file
// shows, and writes nothing.
func TestRollbackDryRun(t *testing.T) {
	table := newTable(t)
	files := ruleFiles(t, "capacity: 2, window: 60s", "capacity: 1, window: 60s")
	table.apply(t, files...)
	table.set(t, "api", "user:stale", "{capacity: {hour: 5}}")
	log := file(t, "day.jsonl", strings.Repeat(`{"time":1,"method":"GET","path":"/","jwt":{"sub":"ann"}}`+"\n", 2)+`{"time":2,"method":"GET","path":"/","jwt":{"sub":"bob"}}`+"\n")

	changes := "version 1 changes version 2:\n  rule api, capacity: from 1 to 2\n  rule api: its counters keep their windows\n\n" +
		"rule  override that does not fit  because\napi   user:stale                  capacity.hour: rule api has one limit, without a name: write the capacity alone\n\n" +
		"of 3 recorded requests in 1s of traffic:\n" +
		"  allowed before, denied now  0   0.0%\n" +
		"  denied before, allowed now  1  33.3%  ████████\n\n" +
		"now denied  now allowed  rule\n         0            1  api\n\n" +
		"now denied  now allowed  rule  key\n         0            1  api   user:ann\n\n"
	rollback := "rules rollback 1 --against " + log + table.at
	wantSame(t, "the output", changes+"nothing was put in force: --dry-run\n", mustRun(t, rollback+"--dry-run"))
	byApply := mustReport[map[string]any](t, "rules apply "+files[0]+" --against "+log+" --dry-run"+table.at)
	byRollback := mustReport[map[string]any](t, rollback+"--dry-run")
	delete(byApply, "table")
	wantSame(t, "apply (-) and rollback (+) of one change", byApply, byRollback)
	table.wantInForce(t, 2, 3)

	done := changes + "version 1 is in force again after 2\n"
	wantSame(t, "the output", done, mustRun(t, rollback+"--why x --who jo"))
	table.wantInForce(t, 1, 4)
	wantFailure(t, "rules rollback 1 --dry-run"+table.at, "version 1: this version is in force already")
	wantFailure(t, "rules rollback 7 --dry-run"+table.at, "version 7: there is no such version")
}

// A rollback that fails leaves the version in force as it was.
func TestRollbackThatCannotBeCompared(t *testing.T) {
	table := newTable(t)
	table.apply(t, ruleFiles(t, "capacity: 2, window: 60s", "capacity: 1, window: 60s")...)
	table.set(t, "api", "user:broken", `{"capacity": -5}`)
	rollback := "rules rollback 1 --why x --who jo" + table.at
	wantFailure(t, rollback+" --against "+file(t, "log.jsonl", `{"time":1,"method":"GET","path":"/","jwt":{"sub":"broken"}}`),
		"--against: the requests cannot be compared: rule api, key user:broken: read override: ")
	wantExit(t, 1, rollback+" --against testdata/rules.yaml", "no line could be read")
	wantExit(t, 1, rollback+" --against testdata/none.log", "none.log")
	wantExit(t, 2, rollback+" --format clf", "--format says what the logs of")
	wantExit(t, 2, rollback+" --against testdata/day.log --format xml", "--format xml: want clf, jsonl, ")
	wantExit(t, 2, "rules rollback 1"+table.at, "--why is missing")
	wantPipeError(t, rollback) // changes that were not shown are not made
	table.wantInForce(t, 2, 3)
}

func TestOverridesThatNoLongerFit(t *testing.T) {
	files := ruleFiles(t, "name: minute, capacity: 2, window: 60s", "name: hour, capacity: 2, window: 1h")
	table := newTable(t, files[0])
	for i := range rulescmd.StaleShown + 2 {
		document := `{"capacity": {"minute": 9}}`
		if i == 0 {
			document = `{"capacity": 9}`
		}
		table.set(t, "api", fmt.Sprintf("user:%02d", i), document)
	}
	got := mustRun(t, "rules diff "+files[1]+table.at)
	lines := strings.Split(got[strings.Index(got, "\n\n")+2:], "\n")
	if lines[0] != "rule  override that does not fit  because" || len(lines) != rulescmd.StaleShown+3 {
		t.Fatalf("printed\n%s", got)
	}
	if !strings.HasPrefix(lines[1], "api   user:01") || !strings.Contains(lines[1], `rule api has no limit "minute"`) {
		t.Errorf("the first is %q", lines[1])
	}
	if want := "      and 1 more"; lines[rulescmd.StaleShown+1] != want {
		t.Errorf("the last is %q, want %q", lines[rulescmd.StaleShown+1], want)
	}

	report := mustReport[published](t, "rules diff "+file(t, "gone.yaml", "rules: []")+table.at)
	if report.StaleOverrides.Count != rulescmd.StaleShown+2 || len(report.StaleOverrides.Overrides) != rulescmd.StaleShown || len(report.StaleOverrides.Unread) != 0 {
		t.Errorf("reported %+v", report.StaleOverrides)
	}
	if first := report.StaleOverrides.Overrides[0]; first.Rule != "api" || first.Key != "user:00" || first.Reason == "" {
		t.Errorf("the first is %+v", first)
	}
}

// Imported rules can be published, and imported overrides set.
func TestRulesImportIsPublished(t *testing.T) {
	dir := t.TempDir()
	out, overrides := filepath.Join(dir, "rules.yaml"), filepath.Join(dir, "plans.jsonl")
	mustRun(t, "rules import --format usage-plans testdata/usage-plans.json --keys pro=testdata/pro-keys.json --output "+out+" --overrides "+overrides)
	table := newTable(t, out)
	wantSame(t, "import", "1 override of plan imported\n", mustRun(t, "overrides import plan "+overrides+" --why moved"+table.at))
	report := mustRun(t, "explain GET / --apikey k1abc"+table.at)
	if !strings.Contains(report, "plan      pro, by an override") {
		t.Errorf("the key does not have its plan:\n%s", report)
	}
}

// TestApplyTooManyRules: apply refuses rules that the construct's Lambda could
// not read in time, before it reads the table, and in a dry run too. validate
// warns: serve takes them.
func TestApplyTooManyRules(t *testing.T) {
	var document strings.Builder
	document.WriteString("rules:\n")
	for i := range 5_001 {
		fmt.Fprintf(&document, "  - {name: r%d, when: {path: /v1/service-%d/**}, key: 'ip:{ip}', limits: [{capacity: 100, window: 60s}]}\n", i, i)
	}
	path := file(t, "many.yaml", document.String())
	for _, more := range []string{" --why x", " --dry-run"} {
		wantFailure(t, "rules apply "+path+more+" --rules dynamodb://none", "many.yaml: 10002 rules, limits, capacities of plans and overrides, and 10000 is the limit",
			"a Lambda of 256 MB would take more than 2 s to start", "slidegate overrides import")
	}
	wantExit(t, 0, "rules validate "+path, "many.yaml: apply would refuse the rules: 10002 rules, ")
}

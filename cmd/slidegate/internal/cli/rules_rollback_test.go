package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	if diff := cmp.Diff(changes+"nothing was put in force: --dry-run\n", mustRun(t, rollback+"--dry-run")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	byApply := mustReport[map[string]any](t, "rules apply "+files[0]+" --against "+log+" --dry-run"+table.at)
	byRollback := mustReport[map[string]any](t, rollback+"--dry-run")
	delete(byApply, "table")
	if diff := cmp.Diff(byApply, byRollback); diff != "" {
		t.Errorf("apply and rollback report one change differently (-apply +rollback):\n%s", diff)
	}
	table.wantInForce(t, 2, 3)

	done := changes + "version 1 is in force again after 2\n"
	if diff := cmp.Diff(done, mustRun(t, rollback+"--why x --who jo")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
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
	for want, more := range map[string]string{
		"no line could be read":           " --against testdata/rules.yaml",
		"none.log":                        " --against testdata/none.log",
		"--format says what the logs of":  " --format clf",
		"--format xml: want clf, jsonl, ": " --against testdata/day.log --format xml",
	} {
		if r := slidegate(t.Context(), "", rollback+more); r.code == 0 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: exit %d, stderr %q", more, r.code, r.stderr)
		}
	}
	if r := slidegate(t.Context(), "", "rules rollback 1"+table.at); r.code != 2 || !strings.Contains(r.stderr, "--why is missing") {
		t.Errorf("without --why: exit %d, stderr %q", r.code, r.stderr)
	}
	wantPipeError(t, rollback) // changes that were not shown are not made
	table.wantInForce(t, 2, 3)
}

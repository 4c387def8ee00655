package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// apply publishes files one after the other.
func (o operated) apply(t *testing.T, files ...string) {
	t.Helper()
	for _, file := range files {
		mustRun(t, "rules", "apply", file, "--rules", o.place, "--who", "jo", "--why", "x")
	}
}

// wantInForce makes sure that a version is in force, after so many changes.
func (o operated) wantInForce(t *testing.T, version int64, changes int) {
	t.Helper()
	if got := current(t, o.Table); got != version {
		t.Errorf("version %d is in force, want %d", got, version)
	}
	for _, err := range o.History(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		changes--
	}
	if changes != 0 {
		t.Errorf("the history has %d changes fewer than it should", changes)
	}
}

// Somebody who publishes after the changes were worked out is not rolled back unseen.
func TestRollbackIsConditional(t *testing.T) {
	table := newOperated(t)
	files := ruleFiles(t, "capacity: 1, window: 60s", "capacity: 2, window: 60s", "capacity: 3, window: 60s")
	table.apply(t, files[0], files[1])
	name := strings.TrimPrefix(table.place, session.DynamoScheme)
	p, err := operator.PrepareRollback(t.Context(), name, 1, &operator.Traffic{})
	if err != nil {
		t.Fatal(err)
	}
	table.apply(t, files[2])
	err = p.Publish(t.Context(), ruletable.Note{Who: "jo", When: time.Now()})
	if err == nil || !strings.Contains(err.Error(), "somebody else has changed this") {
		t.Errorf("rolled back what was not seen: %v", err)
	}
	table.wantInForce(t, 3, 3)
}

// Of those who roll back or publish over the same version at the same time one has their way, with what they were shown.
func TestRollbacksAtOnce(t *testing.T) {
	table := newOperated(t)
	files := ruleFiles(t, "capacity: 1, window: 60s", "capacity: 2, window: 60s", "capacity: 3, window: 60s")
	table.apply(t, files...)
	commands := []string{"rules rollback 1", "rules rollback 2", "rules apply " + files[0]}
	results := make(chan result)
	for _, command := range commands {
		go func() {
			results <- slidegate(t.Context(), "", strings.Fields(command+" --why x --who jo --json --rules "+table.place)...)
		}()
	}
	from := map[int64]bool{}
	for range commands {
		r := <-results
		if r.code != 0 {
			if r.code != 1 || r.stdout != "" || !strings.Contains(r.stderr, "somebody else has changed this") {
				t.Errorf("exit %d, printed %q, said %q", r.code, r.stdout, r.stderr)
			}
			continue
		}
		var report operator.PublishReport
		if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
			t.Fatal(err)
		}
		if from[report.From] {
			t.Errorf("two had their way over version %d", report.From)
		}
		from[report.From] = true
	}
	if !from[3] {
		t.Error("nobody had their way over version 3")
	}
	table.wantInForce(t, current(t, table.Table), 3+len(from))
}

// A dry run of a rollback is one of apply with that version's file: it shows the same, and writes nothing.
func TestRollbackDryRun(t *testing.T) {
	table := newOperated(t)
	files := ruleFiles(t, "capacity: 2, window: 60s", "capacity: 1, window: 60s")
	table.apply(t, files...)
	table.set(t, "api", "user:misfit", "{capacity: {hour: 5}}")
	log := file(t, "day.jsonl", strings.Repeat(`{"time":1,"jwt":{"sub":"ann"}}`+"\n", 2)+`{"time":2,"jwt":{"sub":"bob"}}`+"\n")

	changes := "version 1 changes version 2:\n  rule api, capacity: from 1 to 2\n  rule api: its counters keep their windows\n\n" +
		"rule  override that does not fit  because\napi   user:misfit                 capacity.hour: rule api has one limit, without a name: write the capacity alone\n\n" +
		"of 3 recorded requests in 1s of traffic:\n" +
		"  allowed before, denied now  0   0.0%\n" +
		"  denied before, allowed now  1  33.3%  ████████\n\n" +
		"now denied  now allowed  rule\n         0            1  api\n\n" +
		"now denied  now allowed  rule  key\n         0            1  api   user:ann\n\n"
	rollback := []string{"rules", "rollback", "1", "--rules", table.place, "--against", log}
	if diff := cmp.Diff(changes+"nothing was put in force: --dry-run\n", mustRun(t, append(rollback, "--dry-run")...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	applied := mustRun(t, "rules", "apply", files[0], "--rules", table.place, "--against", log, "--dry-run", "--json")
	var byApply, byRollback map[string]any
	for printed, report := range map[string]*map[string]any{applied: &byApply, mustRun(t, append(rollback, "--dry-run", "--json")...): &byRollback} {
		if err := json.Unmarshal([]byte(printed), report); err != nil {
			t.Fatal(err)
		}
	}
	delete(byApply, "table")
	if diff := cmp.Diff(byApply, byRollback); diff != "" {
		t.Errorf("apply and rollback tell of one change (-apply +rollback):\n%s", diff)
	}
	table.wantInForce(t, 2, 3)

	done := changes + "version 1 is in force again after 2\n"
	if diff := cmp.Diff(done, mustRun(t, append(rollback, "--why", "x", "--who", "jo")...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	table.wantInForce(t, 1, 4)
	wantFailure(t, "rules rollback 1 --dry-run --rules "+table.place, "version 1: this version is in force already")
	wantFailure(t, "rules rollback 7 --dry-run --rules "+table.place, "version 7: there is no such version")
}

// What fails on the way leaves the version in force where it is.
func TestRollbackThatCannotBeCompared(t *testing.T) {
	table := newOperated(t)
	table.apply(t, ruleFiles(t, "capacity: 2, window: 60s", "capacity: 1, window: 60s")...)
	table.set(t, "api", "user:broken", `{"capacity": -5}`)
	rollback := "rules rollback 1 --why x --who jo --rules " + table.place
	wantFailure(t, rollback+" --against "+file(t, "log.jsonl", `{"time":1,"jwt":{"sub":"broken"}}`),
		"--against: the requests cannot be compared: rule api, key user:broken: read override: ")
	for said, more := range map[string]string{
		"no line could be read":             " --against testdata/rules.yaml",
		"none.log":                          " --against testdata/none.log",
		"--format says what the logs of":    " --format clf",
		"--format xml: want clf, jsonl or ": " --against testdata/day.log --format xml",
	} {
		if r := slidegate(t.Context(), "", strings.Fields(rollback+more)...); r.code == 0 || !strings.Contains(r.stderr, said) {
			t.Errorf("%s: exit %d, said %q", more, r.code, r.stderr)
		}
	}
	if r := slidegate(t.Context(), "", "rules", "rollback", "1", "--rules", table.place); r.code != 2 || !strings.Contains(r.stderr, "--why is missing") {
		t.Errorf("for no reason: exit %d, said %q", r.code, r.stderr)
	}
	var stderr strings.Builder
	if code := Run(t.Context(), strings.Fields(rollback), strings.NewReader(""), brokenPipe{}, &stderr); code != 1 || !strings.Contains(stderr.String(), errPipe.Error()) {
		t.Errorf("changes that nobody could read: exit %d, said %q", code, stderr.String())
	}
	table.wantInForce(t, 2, 3)
}

package cli

import (
	"context"
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
)

func TestDiffTranscripts(t *testing.T) {
	const stdin = "198.51.100.7 - - [17/May/2015:10:05:00 +0000] \"GET / HTTP/1.1\" 200 1\nbroken\n"
	const diff = "rules diff testdata/next.yaml --rules testdata/rules.yaml"
	for name, commands := range map[string][]string{
		"rules-diff": {
			"rules diff --help", diff, diff + " --against testdata/day.log", diff + " --against testdata/day.log --json",
			"rules diff testdata/rules.yaml --rules testdata/rules.yaml --json",
			"rules diff testdata/rules.yaml --rules testdata/rules.yaml --against testdata/day.csv --against testdata/day.jsonl",
			diff + " --against -",
		},
		"rules-diff-failed": {
			"rules diff testdata/next.yaml", "rules diff --rules testdata/rules.yaml", "rules diff testdata/next.yaml --rules s3://a/b",
			"rules diff testdata/bad.yaml --rules testdata/rules.yaml", "rules diff testdata/next.yaml --rules testdata/bad.yaml",
			"rules diff testdata/none.yaml --rules testdata/rules.yaml", diff + " --against testdata/none.log",
			diff + " --against testdata/day.log --format xml", diff + " --format clf", diff + " --against testdata/rules.yaml",
			"rules apply testdata/next.yaml --rules dynamodb://abc --against testdata/none.log",
		},
		"replay-trials": {
			"replay testdata/day.log --rules testdata/trials.yaml", "replay testdata/day.log --rules testdata/trials.yaml --json",
			"replay testdata/day.log --rules testdata/trials.yaml --decisions -",
			"replay testdata/day.log --rules testdata/secret.yaml",
		},
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, transcript(t.Context(), stdin, commands...)) })
	}
}

func TestDiffThatCannotBeWritten(t *testing.T) {
	for _, more := range []string{"", " --json", " --against testdata/day.csv"} {
		var stderr strings.Builder
		command := "rules diff testdata/next.yaml --rules testdata/rules.yaml" + more
		code := Run(t.Context(), strings.Fields(command), strings.NewReader(""), brokenPipe{}, &stderr)
		if code != 1 || !strings.Contains(stderr.String(), errPipe.Error()) {
			t.Errorf("%s: exit %d, %q", command, code, stderr.String())
		}
	}
}

// A comparison that is broken off says so and prints nothing.
func TestInterruptedComparison(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	end()
	r := slidegate(ctx, "", strings.Fields("rules diff testdata/next.yaml --rules testdata/rules.yaml --against testdata/day.log")...)
	if r.code != 1 || r.stdout != "" || r.stderr != "slidegate: interrupted\n" {
		t.Errorf("exit %d, printed %q, said %q", r.code, r.stdout, r.stderr)
	}
}

// ruleFiles writes documents, each with a rule api of this capacity and window, and returns the path of each.
func ruleFiles(t *testing.T, limits ...string) (paths []string) {
	t.Helper()
	for i, l := range limits {
		path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.yaml", i))
		document := "rules: [{name: api, key: 'user:{jwt.sub}', overrides: true, limits: [{" + l + "}]}]\n"
		if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func TestApplyShowsWhatChanges(t *testing.T) {
	client := dynamotest.Connect(t)
	table := rulesTable(t, client)
	place := "dynamodb://" + table
	files := ruleFiles(t, "capacity: 2, window: 60s", "capacity: 1, window: 60s")
	log := filepath.Join(t.TempDir(), "day.jsonl")
	lines := strings.Repeat(`{"time":1,"jwt":{"sub":"ann"}}`+"\n", 2) + `{"time":2,"jwt":{"sub":"bob"}}` + "\n"
	if err := os.WriteFile(log, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	apply := func(file string, more ...string) string {
		return mustRun(t, append([]string{"rules", "apply", file, "--rules", place}, more...)...)
	}

	want := files[0] + " changes a table without rules:\n" +
		"  rule api: added: {key: user:{jwt.sub}, overrides: user:{jwt.sub}, limits: [{capacity: 2, window: 1m, granularity: 1s}]}\n\n" +
		files[0] + " is version 1 of table " + table + " and in force\n"
	if diff := cmp.Diff(want, apply(files[0])); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	changes := files[1] + " changes version 1:\n  rule api, capacity: from 2 to 1\n  rule api: its counters keep their windows\n\n" +
		"of 3 recorded requests in 1s of traffic:\n" +
		"  allowed before, denied now  1  33.3%  ████████\n" +
		"  denied before, allowed now  0   0.0%\n\n" +
		"now denied  now allowed  rule\n         1            0  api\n\n" +
		"now denied  now allowed  rule  key\n         1            0  api   user:ann\n\n"
	dry := changes + "nothing was published: --dry-run\n"
	if diff := cmp.Diff(dry, apply(files[1], "--against", log, "--dry-run")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var report struct {
		operator.PublishReport
		Version *int64 `json:"version"`
	}
	if err := json.Unmarshal([]byte(apply(files[1], "--dry-run", "--json")), &report); err != nil {
		t.Fatal(err)
	}
	if report.Version != nil || report.From != 1 || len(report.Changes) != 2 || report.Against != nil || report.StaleOverrides.Count != 0 {
		t.Errorf("a dry run report %+v", report)
	}
	if got := current(t, ruletable.New(client, table)); got != 1 {
		t.Errorf("after dry runs version %d is in force", got)
	}

	done := changes + files[1] + " is version 2 of table " + table + " and in force\n"
	if diff := cmp.Diff(done, apply(files[1], "--against", log)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := mustRun(t, "rules", "diff", files[1], "--rules", place), files[1]+" means the same as version 2\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	if err := json.Unmarshal([]byte(apply(files[0], "--against", log, "--json")), &report); err != nil {
		t.Fatal(err)
	}
	if report.Version == nil || *report.Version != 3 || report.From != 2 || report.Against.ToAllowed != 1 || report.Against.Requests != 3 {
		t.Errorf("told %+v", report)
	}
}

func current(t *testing.T, table *ruletable.Table) int64 {
	t.Helper()
	version, err := table.Current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// A comparison that fails is no reason to publish unseen.
func TestApplyPublishesNothingAfterAFailure(t *testing.T) {
	client := dynamotest.Connect(t)
	table := rulesTable(t, client)
	place := "dynamodb://" + table
	files := ruleFiles(t, "capacity: 2, window: 60s", "capacity: 1, window: 60s")
	mustRun(t, "rules", "apply", files[0], "--rules", place)
	r := slidegate(t.Context(), "", "rules", "apply", files[1], "--rules", place, "--against", "testdata/rules.yaml")
	if r.code != 1 || !strings.Contains(r.stderr, "no line could be read: does --format say what the logs hold?") {
		t.Errorf("exit %d, said %q", r.code, r.stderr)
	}
	if got := current(t, ruletable.New(client, table)); got != 1 {
		t.Errorf("version %d is in force", got)
	}
}

// Somebody who publishes after the changes were worked out is not overwritten.
func TestApplyIsConditional(t *testing.T) {
	client := dynamotest.Connect(t)
	table := rulesTable(t, client)
	place := "dynamodb://" + table
	files := ruleFiles(t, "capacity: 2, window: 60s", "capacity: 1, window: 60s", "capacity: 3, window: 60s")
	mustRun(t, "rules", "apply", files[0], "--rules", place)
	p, err := operator.PrepareApply(t.Context(), files[1], table, &operator.Traffic{Listener: &cli{stderr: os.Stderr}})
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, "rules", "apply", files[2], "--rules", place)
	err = p.Publish(t.Context(), ruletable.Note{Who: "jo", When: time.Now()})
	if err == nil || !strings.Contains(err.Error(), "somebody else has changed this") {
		t.Errorf("published over another: %v", err)
	}
	if got := current(t, ruletable.New(client, table)); got != 2 {
		t.Errorf("version %d is in force, want 2", got)
	}
}

// A version in force that is not valid can be replaced, though nobody can say by how much.
func TestApplyOverAnInvalidVersion(t *testing.T) {
	client := dynamotest.Connect(t)
	table := rulesTable(t, client)
	note := ruletable.Note{Who: "jo", When: time.Now()}
	if _, err := ruletable.New(client, table).Publish(t.Context(), ruletable.Version{Text: []byte("rules: 7"), Document: &ruledoc.Document{}, Note: note}, 0); err != nil {
		t.Fatal(err)
	}
	place := "dynamodb://" + table
	file := ruleFiles(t, "capacity: 2, window: 60s")[0]
	for _, command := range []string{"rules diff ", "rules apply --against testdata/day.log "} {
		r := slidegate(t.Context(), "", strings.Fields(command+file+" --rules "+place)...)
		if r.code != 1 || r.stdout != "" || !strings.Contains(r.stderr, place+" version 1: rules: is missing") {
			t.Errorf("%s: exit %d, said %q", command, r.code, r.stderr)
		}
	}
	got := mustRun(t, "rules", "apply", file, "--rules", place)
	if !strings.HasPrefix(got, "version 1 is not valid here, so what "+file+" changes is not known: ") ||
		!strings.HasSuffix(got, file+" is version 2 of table "+table+" and in force\n") {
		t.Errorf("printed %q", got)
	}
}

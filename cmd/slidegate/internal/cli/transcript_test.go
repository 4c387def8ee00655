package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/test/golden"
)

// Commands that make no sense are refused before any call to AWS.
func TestTranscripts(t *testing.T) {
	signedOut(t)
	t.Setenv("ORIGIN_SECRET", "")
	for _, name := range []string{
		"help", "usage", "overrides-usage", "complete", "replay", "replay-decisions", "replay-stdin", "replay-shadow", "rules-validate", "missing-files",
		"rules-diff", "rules-diff-failed", "cost", "suggest", "explain", "places",
	} {
		t.Run(name, func(t *testing.T) { transcript(t, name, scrubElapsed) })
	}
}

// Transcripts of commands on a table, by the rules that are in force.
func TestTableTranscripts(t *testing.T) {
	for name, rules := range map[string]string{
		"overrides": "business", "grant": "business", // and who reset what, by the key that tables have
		"reset-kept":       "business",
		"grant-client":     "partners", // keys whose values a client states freely are never raised
		"unknown-override": "finer",    // an override's key needs more than the counter's key
	} {
		t.Run(name, func(t *testing.T) { newTable(t, "testdata/"+rules+".yaml").transcript(t, name) })
	}
	// The first rules select by path, so ambiguous paths are denied. That is no
	// change, because no earlier version allowed them.
	newTable(t).transcript(t, "versions-empty")
}

// TestWrittenFiles: what commands wrote is in files of its own.
func TestWrittenFiles(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files map[string]string // of the directory, and their golden files
	}{
		{"init", map[string]string{"rules.yaml": "init-rules", "keys.yaml": "init-keys", "users.yaml": "init-users"}},
		{"rules-import", map[string]string{"plans.jsonl": "rules-import-overrides"}},
	} {
		dir := transcript(t, tc.name, scrubElapsed)
		for name, want := range tc.files {
			golden.Check(t, goldenPath(want), read(t, filepath.Join(dir, name)))
		}
		if files, err := os.ReadDir(dir); err != nil || tc.name == "init" && len(files) != len(tc.files) {
			t.Errorf("%s left %v, %v behind", tc.name, files, err)
		}
	}
}

func TestVersion(t *testing.T) {
	for _, command := range []string{"version", "--version"} {
		if got := mustRun(t, command); !regexp.MustCompile(`^slidegate \S+ \(go1\S+, \w+/\w+\)\n$`).MatchString(got) {
			t.Errorf("%s: %q", command, got)
		}
	}
	if got := mustRun(t, "version --json"); !strings.Contains(got, `"version": "`) {
		t.Errorf("%q", got)
	}
}

func TestOutputThatCannotBeWritten(t *testing.T) {
	for _, command := range []string{
		"version", "version --json", "rules validate testdata/rules.yaml", "rules validate testdata/rules.yaml --json",
		"replay testdata/day.log --rules testdata/rules.yaml", "replay testdata/day.log --rules testdata/rules.yaml --json",
		"replay testdata/day.log --rules testdata/rules.yaml --decisions -",
		"cost --requests 1", "cost --requests 1 --json",
		"explain GET / --rules testdata/rules.yaml", "explain GET / --rules testdata/rules.yaml --json",
		"rules import --format envoy testdata/envoy.yaml", "rules import --format envoy testdata/envoy.yaml --json",
		"rules diff testdata/next.yaml --rules testdata/rules.yaml", "rules diff testdata/next.yaml --rules testdata/rules.yaml --json",
		"rules diff testdata/next.yaml --rules testdata/rules.yaml --against testdata/day.csv",
	} {
		wantPipeError(t, command)
	}
}

// The policy is for the partition of the region that the other commands use. It
// needs no credentials.
func TestPolicy(t *testing.T) {
	signedOut(t)
	wantFailure(t, "aws policy", "no AWS region; set AWS_REGION")

	t.Setenv("AWS_CONFIG_FILE", file(t, "config", "[profile beijing]\nregion = cn-north-1\n"))
	t.Setenv("AWS_PROFILE", "beijing")
	if got := mustRun(t, "aws policy"); !strings.Contains(got, `"arn:aws-cn:s3:::slidegate-*"`) {
		t.Error(got)
	}
	t.Setenv("AWS_PROFILE", "")
	t.Setenv("AWS_DEFAULT_REGION", "us-east-1")
	transcript(t, "aws-policy", scrubElapsed)
	transcript(t, "aws-policy-role", scrubElapsed)
}

// Editors complete the examples, because the first line of each names the schema.
func TestExamplesNameTheirSchema(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.yaml", "traffic/*.yaml"} {
		found, err := filepath.Glob(filepath.Join("../../../../examples", pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("examples/%s: %d files, %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	want, err := os.Stat("../../../../docs/rules.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		document := read(t, file)
		line, _, _ := strings.Cut(document, "\n")
		path, ok := strings.CutPrefix(line, "# yaml-language-server: $schema=")
		if got, err := os.Stat(filepath.Join(filepath.Dir(file), path)); !ok || err != nil || !os.SameFile(got, want) {
			t.Errorf("%s begins with %q, %v", file, line, err)
		}
	}
}

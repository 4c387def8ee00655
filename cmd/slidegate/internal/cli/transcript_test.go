package cli

import (
	"regexp"
	"strings"
	"testing"
)

func TestTranscripts(t *testing.T) {
	const stdin = "203.0.113.9 - - [17/May/2015:10:05:00 +0000] \"GET / HTTP/1.1\" 200 1\n"
	for _, name := range []string{"help", "usage", "replay", "replay-decisions", "replay-stdin", "rules-validate", "missing-files", "cost", "suggest"} {
		t.Run(name, func(t *testing.T) { transcript(t, name, stdin, scrubElapsed) })
	}
}

func TestDiffTranscripts(t *testing.T) {
	const stdin = "198.51.100.7 - - [17/May/2015:10:05:00 +0000] \"GET / HTTP/1.1\" 200 1\nbroken\n"
	for _, name := range []string{"rules-diff", "rules-diff-failed", "replay-shadow"} {
		t.Run(name, func(t *testing.T) { transcript(t, name, stdin, scrubElapsed) })
	}
}

func TestExplain(t *testing.T) {
	t.Setenv("ORIGIN_SECRET", "")
	transcript(t, "explain", "", scrubElapsed)
}

// A command line that makes no sense is refused before any request to a table.
func TestOverridesUsage(t *testing.T) {
	signedOut(t)
	transcript(t, "overrides-usage", "", scrubElapsed)
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
	} {
		wantPipeError(t, command)
	}
}

func TestDiffThatCannotBeWritten(t *testing.T) {
	for _, more := range []string{"", " --json", " --against testdata/day.csv"} {
		wantPipeError(t, "rules diff testdata/next.yaml --rules testdata/rules.yaml"+more)
	}
}

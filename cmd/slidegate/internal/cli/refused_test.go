package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// An invalid document stops every command that reads it, before it listens,
// charges, writes or publishes. The message names the place and the reason.
func TestBadRules(t *testing.T) {
	signedOut(t) // a call to AWS would fail with another message
	out := filepath.Join(t.TempDir(), "out.tsv")
	file := file(t, "rules.yaml", "rules:\n  - name: per-ip\n    key: ip:{ip}\n    limits:\n      - {capacity: 5, windw: 60s}\n")
	for _, command := range []string{
		"rules validate " + file,
		"rules apply " + file + " --rules dynamodb://slidegate-rules",
		"serve --listen 127.0.0.1:0 --rules " + file,
		"replay testdata/day.log --decisions " + out + " --rules " + file,
		"replay testdata/day.log --store dynamodb://slidegate-counters --decisions " + out + " --rules " + file,
		"inspect ip:203.0.113.9 --store dynamodb://slidegate-counters --rules " + file,
		"reset per-ip ip:203.0.113.9 --store dynamodb://slidegate-counters --rules " + file,
	} {
		wantFailure(t, command, "slidegate: "+file+":5:23: ", "did you mean window?")
	}
	wantEmpty(t, filepath.Dir(out))
}

// The place of a table is no name of a file. The message says how to get one.
func TestTableForFile(t *testing.T) {
	signedOut(t)
	for command, want := range map[string]string{
		"cost --requests 1 --rules dynamodb://x":             "dynamodb://x",
		"rules validate dynamodb://x":                        "dynamodb://x",
		"rules diff stack://x --rules testdata/rules.yaml":   "stack://x",
		"rules apply stack://x/One --rules dynamodb://rules": "stack://x/One",
	} {
		wantFailure(t, command, want+": ", "this reads a file: `slidegate rules get --rules "+want+" --output FILE` writes one")
	}
}

// Standard input is a file like any other, among several too.
func TestValidateStandardInput(t *testing.T) {
	const good, bad = "rules: [{name: api, key: 'ip:{ip}', limits: [{capacity: 5, window: 60s}]}]", "rules: [{nam: api}]"
	for _, test := range []struct {
		stdin, files string
		code         int
		want         string
	}{
		{good, "-", 0, "standard input is valid: 1 rule"},
		{good, "testdata/rules.yaml -", 0, "\n\nstandard input is valid: 1 rule"},
		{good, "- testdata/bad.yaml", 1, "slidegate: testdata/bad.yaml:4:25: "},
		{bad, "-", 1, "slidegate: standard input:1:10: rules[0].nam: unknown field"},
		{bad, "testdata/rules.yaml -", 1, "testdata/rules.yaml is valid"},
		{bad, "- --json", 1, `"file": "standard input"`},
		{"", "-", 1, "slidegate: standard input:1:1: the document is empty"},
	} {
		r := slidegate(t.Context(), test.stdin, "rules validate "+test.files)
		if r.code != test.code || !strings.Contains(r.stdout+r.stderr, test.want) {
			t.Errorf("%s: exit %d, %q, %q; want %d and %q", test.files, r.code, r.stdout, r.stderr, test.code, test.want)
		}
	}
}

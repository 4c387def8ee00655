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
	const rule = "rules:\n  - name: per-ip\n    key: ip:{ip}\n    limits:\n      - "
	for _, tc := range []struct {
		name, document string
		place          string // line and column
		reason         string // a part of it
	}{
		{"no YAML", "rules: [", "1:8", "YAML"},
		{"empty", "", "1:1", "rules"},
		{"unknown field", rule + "{capacity: 5, windw: 60s}\n", "5:23", "did you mean window?"},
		{"window no multiple of granularity", rule + "{capacity: 5, window: 60s, granularity: 7s}\n", "5:49", "multiple"},
		{"capacity 0", rule + "{capacity: 0, window: 60s}\n", "5:20", "0 is out of range"},
		{"negative cost", rule + "{capacity: 5, window: 60s, cost: -1}\n", "5:42", "-1"},
		{"duplicate rule", rule + "{capacity: 5, window: 60s}\n  - {name: per-ip, key: all, limits: [{capacity: 5, window: 60s}]}\n", "6:12", "per-ip"},
		{"duplicate key", rule + "{capacity: 5, capacity: 6, window: 60s}\n", "5:23", "capacity"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := file(t, "rules.yaml", tc.document)
			out := filepath.Join(t.TempDir(), "out.tsv")
			for _, command := range []string{
				"rules validate " + file,
				"rules apply " + file + " --rules dynamodb://slidegate-rules",
				"serve --listen 127.0.0.1:0 --rules " + file,
				"replay testdata/day.log --decisions " + out + " --rules " + file,
				"replay testdata/day.log --store dynamodb://slidegate-counters --decisions " + out + " --rules " + file,
				"inspect ip:203.0.113.9 --store dynamodb://slidegate-counters --rules " + file,
				"reset per-ip ip:203.0.113.9 --store dynamodb://slidegate-counters --rules " + file,
			} {
				wantFailure(t, command, "slidegate: "+file+":"+tc.place+": ", tc.reason)
			}
			wantEmpty(t, filepath.Dir(out))
		})
	}
}

// All errors of a document are reported at once, a line for each.
func TestBadRulesAllAtOnce(t *testing.T) {
	r := slidegate(t.Context(), "", "rules validate testdata/bad.yaml")
	lines := strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n")
	if r.code != 1 || r.stdout != "" || len(lines) != 3 {
		t.Fatalf("exit %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
	}
	for i, place := range []string{"4:25", "5:11", "7:28"} {
		if want := "slidegate: testdata/bad.yaml:" + place + ": "; !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is %q, want %q…", i, lines[i], want)
		}
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

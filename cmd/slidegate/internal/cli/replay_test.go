package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestDecisionsFile(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "decisions.tsv")
	mustRun(t, "replay testdata/day.jsonl --rules testdata/rules.yaml --decisions "+out)
	wantFile(t, out, "1431857100000000000\tper-ip\tip:203.0.113.9\t1\t1\t0\n"+
		"1431857101250000000\tper-ip\tip:203.0.113.9\t1\t0\t0\n"+
		"1431857101500000000\tper-ip\tip:198.51.100.7\t1\t1\t0\n"+
		"1431857101500000000\tlogin\tlogin:198.51.100.7\t1\t0\t0\n")
	const before = "as it was"
	write(t, out, before)
	wantExit(t, 1, "replay testdata/day.log --rules testdata/rules.yaml --format csv --decisions "+out)
	wantFile(t, out, before)
}

// A replay that fails before its first decision prints its error alone. Its JSON
// report has the order and the lines read, so that is printed.
func TestReplayWithoutDecisions(t *testing.T) {
	const failing = "replay testdata/day.log --rules testdata/rules.yaml --format csv"
	if text, report := wantExit(t, 1, failing, "slidegate: "), wantExit(t, 1, failing+" --json"); text.stdout != "" || report.stdout == "" {
		t.Errorf("printed %q, and as JSON %q", text.stdout, report.stdout)
	}
}

// A log shows nothing of an enforced rule if over 1% of the rule's requests lack
// its key.
func TestReplayOfALogThatLacksKeys(t *testing.T) {
	log := func(lacking int) string {
		return file(t, "log.jsonl", strings.Repeat(`{"time":1,"path":"/","jwt":{"sub":"7"}}`+"\n", 100-lacking)+strings.Repeat(`{"time":1,"path":"/"}`+"\n", lacking))
	}
	rule := func(mode string) string {
		return file(t, "rules.yaml", "rules: [{name: api, key: 'user:{jwt.sub}', limit: 100/minute, mode: "+mode+"}]\n")
	}
	const says = "rule api: 2 of 100 requests lack jwt.sub of its key; log the fields, or say --missing group if real requests lack them too"
	for _, tc := range []struct {
		lacking int
		mode    string
		more    string
		says    string
	}{
		{1, "enforce", "", ""},
		{2, "enforce", "", says},
		{2, "enforce", " --missing fail", says},
		{2, "enforce", " --missing group", ""},
		{2, "enforce", " --missing=group --json", ""},
		{2, "shadow", "", ""},
	} {
		r := slidegate(t.Context(), "", "replay "+log(tc.lacking)+" --rules "+rule(tc.mode)+tc.more)
		if failed := r.code == 1; failed != (tc.says != "") || !strings.Contains(r.stderr, tc.says) || !strings.Contains(r.stdout, "jwt.sub") {
			t.Errorf("%+v: exit %d\n%s%s", tc, r.code, r.stdout, r.stderr)
		}
	}
}

// The page appears when the replay has succeeded; one file may be standard output.
func TestReportFiles(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "report.html")
	const replay = "replay testdata/day.jsonl --rules testdata/rules.yaml"
	if got := mustRun(t, replay+" --report "+page); !strings.Contains(got, "requests") {
		t.Errorf("the totals are not on standard output: %q", got)
	}
	content := read(t, page)
	for _, part := range []string{"<!doctype html>", "day.jsonl", "testdata/rules.yaml", "ip:203.0.113.9", "half the limits", "leaky_bucket", "</html>"} {
		if !strings.Contains(content, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	if r := slidegate(t.Context(), "", replay+" --report - --decisions "+filepath.Join(dir, "decisions.tsv")); !strings.HasPrefix(r.stdout, "<!doctype html>") || !strings.Contains(r.stderr, "allowed") {
		t.Errorf("stdout %.40q, stderr %q", r.stdout, r.stderr)
	}
	wantExit(t, 2, replay+" --report - --decisions -", "only one of --decisions and --report can be -")
	const before = "as it was"
	write(t, page, before)
	wantExit(t, 1, "replay testdata/day.log --rules testdata/rules.yaml --format csv --report "+page)
	wantFile(t, page, before)
}

// A client may choose the text of a key. Spreadsheets that open the decisions
// must not take it for a formula, and programs can take the quote off again.
func TestDecisionsAreNoFormulas(t *testing.T) {
	rules := file(t, "rules.yaml", "rules: [{name: api, key: '{header.x-user}', limit: 1/hour}]\n")
	for sent, want := range map[string]string{
		`=HYPERLINK(1)`: "'=HYPERLINK(1)", `+1`: "'+1", `-1`: "'-1", `@SUM(A1)`: "'@SUM(A1)", `'=1`: "''=1",
		`\"=1\"`: `'"=1"`, `\"1`: `'"1`, ` =1`: "' =1",
		`\t=1`: "%09=1", `\r=1`: "%0D=1", `ada=1`: "ada=1",
	} {
		log := file(t, "log.jsonl", `{"time":1,"path":"/","headers":{"x-user":"`+sent+`"}}`+"\n")
		got := mustRun(t, "replay "+log+" --rules "+rules+" --decisions -")
		if line := "1000000000\tapi\t" + want + "\t1\t0\t0\n"; !strings.HasPrefix(got, line) {
			t.Errorf("%s: %q, want %q", sent, got, line)
		}
	}
}

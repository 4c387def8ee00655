package cli

import (
	"os"
	"path/filepath"
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
	before := "as it was"
	if err := os.WriteFile(out, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := slidegate(t.Context(), "", "replay testdata/day.log --rules testdata/rules.yaml --format csv --decisions "+out); r.code != 1 {
		t.Errorf("exit %d", r.code)
	}
	wantFile(t, out, before)
}

// A replay that fails before its first decision prints its error alone. Its JSON
// report has the order and the lines read, so that is printed.
func TestReplayWithoutDecisions(t *testing.T) {
	const failing = "replay testdata/day.log --rules testdata/rules.yaml --format csv"
	if r := slidegate(t.Context(), "", failing); r.code != 1 || r.stdout != "" || r.stderr == "" {
		t.Errorf("exit %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
	}
	if r := slidegate(t.Context(), "", failing+" --json"); r.code != 1 || r.stdout == "" {
		t.Errorf("exit %d, stdout %q", r.code, r.stdout)
	}
}

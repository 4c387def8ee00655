package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/rulescmd"
)

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
	rest := got[strings.Index(got, "\n\n")+2:]
	lines := strings.Split(rest, "\n")
	want := "rule  override that does not fit  because"
	if lines[0] != want || len(lines) != rulescmd.StaleShown+3 {
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

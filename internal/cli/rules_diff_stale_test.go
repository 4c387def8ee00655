package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/dynamotest"
	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/ruletable"
)

func TestOverridesThatNoLongerFit(t *testing.T) {
	client := dynamotest.Connect(t)
	table := rulesTable(t, client)
	place := "dynamodb://" + table
	files := ruleFiles(t, "name: minute, capacity: 2, window: 60s", "name: hour, capacity: 2, window: 1h")
	mustRun(t, "rules", "apply", files[0], "--rules", place)
	stored := ruletable.New(client, table)
	for i := range operator.StaleShown + 2 {
		o := ruletable.Override{
			Rule: "api", Key: fmt.Sprintf("user:%02d", i), Document: `{"capacity": {"minute": 9}}`, Note: ruletable.Note{Who: "jo", When: time.Now()},
		}
		if i == 0 {
			o.Document = `{"capacity": 9}`
		}
		if err := stored.SetOverride(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	got := mustRun(t, "rules", "diff", files[1], "--rules", place)
	rest := got[strings.Index(got, "\n\n")+2:]
	lines := strings.Split(rest, "\n")
	want := "rule  override that does not fit  because"
	if lines[0] != want || len(lines) != operator.StaleShown+3 {
		t.Fatalf("printed\n%s", got)
	}
	if !strings.HasPrefix(lines[1], "api   user:01") || !strings.Contains(lines[1], `rule api has no limit "minute"`) {
		t.Errorf("the first is %q", lines[1])
	}
	if want := "      and 1 more"; lines[operator.StaleShown+1] != want {
		t.Errorf("the last is %q, want %q", lines[operator.StaleShown+1], want)
	}

	gone := filepath.Join(t.TempDir(), "gone.yaml")
	if err := os.WriteFile(gone, []byte("rules: []"), 0o600); err != nil {
		t.Fatal(err)
	}
	var report operator.PublishReport
	if err := json.Unmarshal([]byte(mustRun(t, "rules", "diff", gone, "--rules", place, "--json")), &report); err != nil {
		t.Fatal(err)
	}
	if report.StaleOverrides.Count != operator.StaleShown+2 || len(report.StaleOverrides.Overrides) != operator.StaleShown || len(report.StaleOverrides.Unread) != 0 {
		t.Errorf("told of %+v", report.StaleOverrides)
	}
	if first := report.StaleOverrides.Overrides[0]; first.Rule != "api" || first.Key != "user:00" || first.Reason == "" {
		t.Errorf("the first is %+v", first)
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/dynamotest"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

func TestOverridesThatNoLongerFit(t *testing.T) {
	client := dynamotest.Connect(t)
	table := rulesTable(t, client)
	place := "dynamodb://" + table
	files := ruleFiles(t, "name: minute, capacity: 2, window: 60s", "name: hour, capacity: 2, window: 1h")
	mustRun(t, "rules", "apply", files[0], "--rules", place)
	stored := ruletable.New(client, table)
	for i := range misfitsShown + 2 {
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
	if lines[0] != want || len(lines) != misfitsShown+3 {
		t.Fatalf("printed\n%s", got)
	}
	if !strings.HasPrefix(lines[1], "api   user:01") || !strings.Contains(lines[1], `rule api has no limit "minute"`) {
		t.Errorf("the first is %q", lines[1])
	}
	if want := "      and 1 more"; lines[misfitsShown+1] != want {
		t.Errorf("the last is %q, want %q", lines[misfitsShown+1], want)
	}

	gone := filepath.Join(t.TempDir(), "gone.yaml")
	if err := os.WriteFile(gone, []byte("rules: []"), 0o600); err != nil {
		t.Fatal(err)
	}
	var told previewTold
	if err := json.Unmarshal([]byte(mustRun(t, "rules", "diff", gone, "--rules", place, "--json")), &told); err != nil {
		t.Fatal(err)
	}
	if told.Misfits.Count != misfitsShown+2 || len(told.Misfits.Overrides) != misfitsShown || len(told.Misfits.Unread) != 0 {
		t.Errorf("told of %+v", told.Misfits)
	}
	if first := told.Misfits.Overrides[0]; first.Rule != "api" || first.Key != "user:00" || first.Reason == "" {
		t.Errorf("the first is %+v", first)
	}
}

// Of a rule with very many overrides, only the first are looked at, and the others are not passed over in silence.
func TestOverridesAreReadWithinABound(t *testing.T) {
	client := dynamotest.Connect(t)
	table := rulesTable(t, client)
	stored := ruletable.New(client, table)
	all := func(yield func(ruletable.Override) bool) {
		for i := range misfitsRead + 1 {
			if !yield(ruletable.Override{Rule: "api", Key: fmt.Sprintf("user:%d", i), Document: `{"capacity": 9}`}) {
				return
			}
		}
	}
	if err := stored.ImportOverrides(t.Context(), "api", all, ruletable.Note{Who: "jo", When: time.Now()}, nil); err != nil {
		t.Fatal(err)
	}
	set, err := rulefile.Parse("rules.yaml", []byte("rules: []"))
	if err != nil {
		t.Fatal(err)
	}
	found, err := findMisfits(t.Context(), stored, set, set, []string{"other", "api"})
	if err != nil {
		t.Fatal(err)
	}
	if found.Count != misfitsRead || len(found.Overrides) != misfitsShown || !cmp.Equal(found.Unread, []string{"api"}) {
		t.Errorf("found %d, showed %d, did not read all of %q", found.Count, len(found.Overrides), found.Unread)
	}
	var printed strings.Builder
	found.print(&printer{w: &printed})
	if want := "rule api has more than 1,000 overrides: the others were not looked at\n"; !strings.HasSuffix(printed.String(), want) {
		t.Errorf("printed\n%s", printed.String())
	}
}

func TestSuspects(t *testing.T) {
	got := suspects([]ruledoc.Change{
		{Kind: ruledoc.Changed, Field: "plans"}, {Kind: ruledoc.Changed, Field: "unmatched"}, {Kind: ruledoc.Moved, Rule: "moved"},
		{Kind: ruledoc.Changed, Rule: "api", Field: "capacity"}, {Kind: ruledoc.Counters, Rule: "api"}, {Kind: ruledoc.Removed, Rule: "old"},
		{Kind: ruledoc.Added, Rule: rules.PlanOverrides, Field: "overrides", Key: "user:7"},
	})
	if want := []string{"plan", "api", "old"}; !cmp.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

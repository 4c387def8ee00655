package rulescmd

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// TestOverridesAreReadWithinABound: of a rule with very many overrides only the
// first are checked, and the report names the rule.
func TestOverridesAreReadWithinABound(t *testing.T) {
	client := dynamotest.Connect(t)
	table := dynamotest.Create(t, client, ruletable.Description(dynamotest.Name()))
	stored := ruletable.New(client, table)
	all := func(yield func(ruletable.Override) bool) {
		for i := range StaleRead + 1 {
			if !yield(ruletable.Override{Rule: "api", Key: fmt.Sprintf("user:%d", i), Document: `{"capacity": 9}`}) {
				return
			}
		}
	}
	if _, err := stored.ImportOverrides(t.Context(), "api", all, ruletable.Note{Who: "jo", When: time.Now()}, nil); err != nil {
		t.Fatal(err)
	}
	set, err := rulefile.Parse("rules.yaml", []byte("rules: []"))
	if err != nil {
		t.Fatal(err)
	}
	found, err := findStale(t.Context(), stored, set, set, []string{"other", "api"})
	if err != nil {
		t.Fatal(err)
	}
	if found.Count != StaleRead || len(found.Overrides) != StaleShown || !cmp.Equal(found.Unread, []string{"api"}) {
		t.Errorf("found %d, showed %d, did not read all of %q", found.Count, len(found.Overrides), found.Unread)
	}
	var printed strings.Builder
	printStale(command.NewPrinter(&printed), found)
	if want := "\nrule api has more than 1,000 overrides: the others were not checked\n"; !strings.HasSuffix(printed.String(), want) {
		t.Errorf("printed %q, want …%q", printed.String(), want)
	}
}

func TestChangedRules(t *testing.T) {
	got := changedRules([]ruledoc.Change{
		{Kind: ruledoc.Changed, Field: "plans"}, {Kind: ruledoc.Changed, Field: "unmatched"}, {Kind: ruledoc.Moved, Rule: "moved"},
		{Kind: ruledoc.Changed, Rule: "api", Field: "capacity"}, {Kind: ruledoc.Counters, Rule: "api"}, {Kind: ruledoc.Removed, Rule: "old"},
		{Kind: ruledoc.Added, Rule: rules.PlanOverrides, Field: "overrides", Key: "user:7"},
	})
	if want := []string{"plan", "api", "old"}; !cmp.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

package session_test

import (
	"slices"
	"testing"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
)

// Leases have an effect on counters in DynamoDB alone.
func TestWarningsOfLeases(t *testing.T) {
	set, err := rulefile.Parse("rules.yaml", []byte(`rules:
  - {name: busy, key: all, lease: 100, limit: 100000/minute}
  - {name: off, mode: off, key: all, lease: 100, limit: 100000/minute}
  - {name: slow, key: everyone, limit: 5/minute}
`))
	if err != nil || len(set.Warnings) != 1 {
		t.Fatalf("warnings %q, error %v", set.Warnings, err)
	}
	memory := session.Session{Rules: set}
	want := append(slices.Clone(set.Warnings), "lease of rule busy has no effect: only counters in DynamoDB are charged ahead")
	if got := memory.Warnings(); !slices.Equal(got, want) {
		t.Errorf("in memory: %q", got)
	}
	table := session.Session{Rules: set, Locations: session.Locations{CountersTable: "counters"}}
	if got := table.Warnings(); !slices.Equal(got, set.Warnings) {
		t.Errorf("in DynamoDB: %q", got)
	}
}

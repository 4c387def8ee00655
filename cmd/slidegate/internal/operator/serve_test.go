package operator

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
)

// TestServeWarnsOfKeys: API keys that the local gateway cannot verify are named
// at its start.
func TestServeWarnsOfKeys(t *testing.T) {
	for authentication, want := range map[string]string{
		"{api_key: {}}":                                       "API keys cannot be verified",
		"{api_key: {from: api_gateway}}":                      "no API keys of API Gateway here",
		"{jwt: [{issuer: 'https://a.example', audience: x}]}": "",
	} {
		path := filepath.Join(t.TempDir(), "rules.yaml")
		if err := os.WriteFile(path, []byte("{rules: [], authentication: "+authentication+"}"), 0o600); err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		s, err := OpenGateway(t.Context(), session.Locations{RulesFile: path}, nil, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		if got := log.String(); !strings.Contains(got, want) || (want == "") != (got == "") || strings.Count(got, "\n") > 1 {
			t.Errorf("%s: logged %q, want %q once", authentication, got, want)
		}
	}
}

// TestServeCountsAlone: serve is one process unless the rules say how many share
// the load.
func TestServeCountsAlone(t *testing.T) {
	for defaults, want := range map[string]int{"": 1, "defaults: {on_error: local}, ": 1, "defaults: {instances: 20}, ": 20} {
		path := filepath.Join(t.TempDir(), "rules.yaml")
		if err := os.WriteFile(path, []byte("{"+defaults+"rules: []}"), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := OpenGateway(t.Context(), session.Locations{RulesFile: path}, nil, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		if s.Rules.Instances != want {
			t.Errorf("%q: counts as one of %d processes, want %d", defaults, s.Rules.Instances, want)
		}
	}
}

// TestListShares: the line at the start has the shares of rules that count locally
// while the store is away, ten rules at most.
func TestListShares(t *testing.T) {
	document := "rules:\n  - {name: open, key: all, on_error: allow, limit: 9/minute}\n  - {name: off, mode: off, key: k, limit: 9/minute}\n"
	for i := range 12 {
		document += fmt.Sprintf("  - {name: r%d, key: \"%[1]d\", limits: [9/minute, 80/hour]}\n", i)
	}
	set, err := rulefile.Parse("rules.yaml", []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	s := &session.Session{Rules: set, Locations: session.Locations{CountersTable: "counters"}}
	got := ListShares(s)
	if len(got) != 11 || got[0] != "r0: 4 per 1h, 1 per 1m" || got[10] != "2 more rules" {
		t.Errorf("listed %q", got)
	}
	if got := ListShares(&session.Session{Rules: set}); got != nil {
		t.Errorf("in memory, which does not fail: %q", got)
	}
}

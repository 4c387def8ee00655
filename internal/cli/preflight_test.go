package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/operator"
)

// TestPreflights: explain and replay let a CORS preflight pass, and deny every
// other OPTIONS request to a banned path, as serve does.
func TestPreflights(t *testing.T) {
	dir := t.TempDir()
	rules, log := filepath.Join(dir, "rules.yaml"), filepath.Join(dir, "requests.jsonl")
	write(t, rules, "deny: [{path: /banned}]\nrules: [{name: all, key: all, limits: [{capacity: 1, window: 60s}]}]")
	preflight := map[string]string{"Origin": "https://app.example", "Access-Control-Request-Method": "PUT"}
	for _, test := range []struct {
		fields map[string]string
		reason string
	}{
		{preflight, "preflight"},
		{map[string]string{"Origin": "https://app.example"}, "banned"},
		{nil, "banned"},
	} {
		command := "explain OPTIONS /banned --rules " + rules
		for name, value := range test.fields {
			command += fmt.Sprintf(" -H '%s: %s'", name, value)
		}
		explained := mustReport[operator.ExplainReport](t, command)
		free := test.reason == "preflight"
		if o := explained.Outcome; o.Allowed != free || o.Reason != test.reason || free && !strings.Contains(o.Why, "CORS preflight") {
			t.Errorf("%s: %+v, want %s", command, o, test.reason)
		}
		line, err := json.Marshal(map[string]any{"time": 1_700_000_000, "method": "OPTIONS", "path": "/banned", "headers": test.fields})
		if err != nil {
			t.Fatal(err)
		}
		write(t, log, string(line)+"\n")
		replayed := mustReport[struct{ Allowed, Banned, Exempt int }](t, "replay "+log+" --rules "+rules)
		if (replayed.Exempt == 1) != free || (replayed.Banned == 1) == free {
			t.Errorf("%s: replayed as %+v, want %s", line, replayed, test.reason)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

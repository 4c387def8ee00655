package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// suggestion is what the tests read of a suggestion as JSON.
type suggestion struct {
	Windows []struct {
		Window string
		Limits []struct {
			Limit int64
			foretold
		}
	}
	Proposed foretold
	Rules    string
}

type foretold struct {
	Keys   int `json:"keys_touched"`
	Denied int
}

// Each number that suggest predicts for four days of a real web site is, to the
// unit, what a replay of the whole log through the limit counts.
func TestSuggestionsComeTrue(t *testing.T) {
	for _, tc := range []struct{ key, windows string }{
		{"ip:{ip}", "1m,1h,1d"},
		{"{ip}|{method}", "10s,5m"},
		{"agent:{header.user-agent}", "1m,12h"},
		{"{header.referer}", "7d"},
	} {
		t.Run(tc.key, func(t *testing.T) {
			s := mustReport[suggestion](t, "suggest "+apacheLog+" --window "+tc.windows+" --key '"+tc.key+"'")
			same := func(what string, want foretold, rules string) {
				if got := replayed(t, rules); got != want {
					t.Errorf("%s: predicted %+v, a replay has %+v", what, want, got)
				}
			}
			same("the proposed rule", s.Proposed, s.Rules)
			for _, w := range s.Windows {
				for _, row := range w.Limits {
					rules := fmt.Sprintf("rules: [{name: alone, key: '%s', limit: %d/%s}]\n", tc.key, row.Limit, w.Window)
					same(fmt.Sprintf("%d in %s", row.Limit, w.Window), row.foretold, rules)
				}
			}
		})
	}
}

// replayed counts what rules deny of the log, and of how many keys.
func replayed(t *testing.T, rules string) (f foretold) {
	t.Helper()
	keys := map[string]bool{}
	for line := range strings.Lines(mustRun(t, "replay "+apacheLog+" --missing group --rules "+file(t, "rules.yaml", rules)+" --decisions -")) {
		if fields := strings.Split(line, "\t"); fields[3] == "0" {
			f.Denied++
			keys[fields[2]] = true
		}
	}
	f.Keys = len(keys)
	return f
}

// --write writes the rule that was shown, and never over a file. The command that
// suggest shows next reads the log in the same way.
func TestSuggestWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.yaml")
	command := "suggest " + apacheLog + " --key ip:{ip} --window 1m --write " + path
	shown := mustRun(t, command)
	text := read(t, path)
	if !strings.Contains(shown, text) || !strings.Contains(shown, "--rules "+path) {
		t.Errorf("shown %s\nwritten %s", shown, text)
	}
	again := mustRun(t, "suggest '"+file(t, "a b.log", read(t, apacheLog))+"' --order file --format clf --key ip:{ip} --window 1m")
	_, next, _ := strings.Cut(again, "\n  slidegate ")
	replay, _, _ := strings.Cut(strings.Replace(next, "rules.yaml", path, 1), " --report")
	if !strings.Contains(next, "/a b.log' --format clf --order file --rules rules.yaml") || !strings.Contains(mustRun(t, replay), "would deny") {
		t.Errorf("next: %s", next)
	}
	wantExit(t, 2, command, "choose another name")
	wantFile(t, path, text)
}

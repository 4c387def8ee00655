package proxies_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestClients runs the programs of docs/http-api.md. The page has the output of
// the first one.
func TestClients(t *testing.T) {
	text, err := os.ReadFile("../../docs/http-api.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	_, address := serve(t, "rules.yaml")
	want := block(t, page, "")
	for _, test := range []struct {
		language string
		command  []string
		want     string
	}{
		{"python", []string{"python3", "-"}, want},
		{"js", []string{"node", "--input-type=module", "-"}, strings.NewReplacer("True", "true", "False", "false", "None", "undefined").Replace(want)},
	} {
		command := exec.Command(test.command[0], test.command[1:]...)
		command.Stdin = strings.NewReader(strings.ReplaceAll(block(t, page, test.language), "127.0.0.1:8080", address))
		output, err := command.CombinedOutput()
		// The requests may fall into the next second.
		if got := regexp.MustCompile(`;t=60\b`).ReplaceAllString(string(output), ";t=61"); err != nil || got != test.want {
			t.Errorf("%s: %v, printed\n%s\nwant\n%s", test.language, err, output, test.want)
		}
	}
}

// block returns the first block of a language.
func block(t *testing.T, page, language string) string {
	t.Helper()
	match := regexp.MustCompile("(?s)\n\n```" + language + "\n(.*?)```\n").FindStringSubmatch(page)
	if match == nil {
		t.Fatalf("the page has no block of %q", language)
	}
	return match[1]
}

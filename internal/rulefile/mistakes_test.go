package rulefile_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/test/golden"
	"github.com/slidegate/slidegate/internal/yamlfile"
)

// mistake is a rules file with a usual mistake.
type mistake struct{ what, file string }

// Parts of rules files: a rule with everything but the mistake.
const (
	rule       = "rules:\n  - name: api\n"
	byIP       = "    key: \"ip:{ip}\"\n"
	tenAMinute = "    limits: [{capacity: 10, window: 60s}]\n"
	start      = rule + byIP
)

// notYAML are files that are not even YAML.
var notYAML = []mistake{
	{"a comma is missing between fields in braces", start + "    limits: [{capacity: 10 window: 60s}]\n"},
	{"a comma is missing after a text in quotes", "rules:\n  - {name: api, key: \"ip:{ip}\" limits: [{capacity: 10, window: 60s}]}\n"},
	{"a comma is missing between two limits", start + "    limits: [{capacity: 10, window: 60s} {capacity: 50, window: 1h}]\n"},
	{"a brace is never closed", start + "    limits: [{capacity: 10, window: 60s]\n"},
	{"a bracket too many", "rules:\n  - {name: api, key: \"ip:{ip}\", limit: 10/minute}]\n"},
	{"a brace too many", start + "    limit: {capacity: 10, window: 60s}}\n"},
	{"a tab indents a line", rule + "\tkey: \"ip:{ip}\"\n"},
	{"a tab follows the dash", "rules:\n  -\tname: api\n"},
	{"a field is indented too far", rule + "      key: \"ip:{ip}\"\n" + tenAMinute},
	{"a field is not indented far enough", rule + "   key: \"ip:{ip}\"\n" + tenAMinute},
	{"no space after the dash", "rules:\n  -name: api\n   key: \"ip:{ip}\"\n"},
	{"no space after the colon", rule + "    key:\"ip:{ip}\"\n" + tenAMinute},
	{"an equal sign in place of the colon", rule + "    key = \"ip:{ip}\"\n" + tenAMinute},
	{"a quote is never closed", rule + "    key: \"ip:{ip}\n" + tenAMinute},
	{"a quote is closed by that of a later line", rule + "    key: \"ip:{ip}\n" + tenAMinute + "  - name: search\n" + byIP + tenAMinute},
	{"the first dash beside the name of the list", "rules: - name: api\n" + byIP + tenAMinute},
	{"a route with a parameter, without quotes in braces", start + "    when: {route: /users/{id}, methods: GET}\n" + tenAMinute},
	{"a key without quotes in braces", "rules:\n  - {name: api, key: ip:{ip}, limits: [{capacity: 10, window: 60s}]}\n"},
	{"a key that begins with a brace, without quotes", rule + "    key: {ip}:{route}\n" + tenAMinute},
	{"a star without quotes", start + "    when: {path: *}\n" + tenAMinute},
	{"a star and text without quotes", start + "    when: {path: *.json}\n" + tenAMinute},
	{"a backslash in double quotes", start + "    when: {path: \"/users/\\d+\"}\n" + tenAMinute},
	{"a colon inside a text without quotes", "unmatched: deny: all\nrules: []\n"},
}

// refused are files that are YAML and no rules.
var refused = []mistake{
	{"the file is empty", ""},
	{"a list at the top", "- name: api\n  key: \"ip:{ip}\"\n"},
	{"rules without dashes", "rules:\n  name: api\n  key: \"ip:{ip}\"\n"},
	{"fields beside their rule", "rules:\n- name: api\nkey: \"ip:{ip}\"\nlimits: [{capacity: 10, window: 60s}]\n"},
	{"the window beside its limit", start + "    limits:\n      - capacity: 10\n    window: 60s\n"},
	{"a limit that is no list", start + "    limits: {capacity: 10, window: 60s}\n"},
	{"no space after the colon, in braces", start + "    limits: [{capacity:10, window: 60s}]\n"},
	{"a misspelled field", start + "    limts: [{capacity: 10, window: 60s}]\n"},
	{"a path beside when", start + "    path: /login\n" + tenAMinute},
	{"a burst beside a rate", start + "    limit: 10/minute\n    burst: 20\n"},
	{"no key", rule + tenAMinute},
	{"a window without its unit", start + "    limits: [{capacity: 10, window: 60}]\n"},
	{"a month that slides", start + "    limits: [{capacity: 10, window: 1mo, algorithm: sliding_window}]\n"},
	{"a capacity in quotes", start + "    limits: [{capacity: \"10\", window: 60s}]\n"},
	{"a capacity of 0", start + "    limits: [{capacity: 0, window: 60s}]\n"},
	{"two limits of one window without names", start + "    limits: [{capacity: 10, window: 60s}, {capacity: 50, window: 60s}]\n"},
	{"two rules with one name", start + tenAMinute + "  - name: api\n" + byIP + tenAMinute},
	{"a source of another program", rule + "    key: \"{client_ip}\"\n" + tenAMinute},
	{"double braces", rule + "    key: \"ip:{{ip}}\"\n" + tenAMinute},
	{"a source in braces without quotes", rule + "    key: {ip}\n" + tenAMinute},
	{"sources without a separator", rule + "    key: \"{ip}{route}\"\n" + tenAMinute},
	{"a regular expression for a path", start + "    when: {path: '^/api/.*$'}\n" + tenAMinute},
	{"a regular expression that no pattern can say", start + "    when: {path: '^/v(1|2)/.*$'}\n" + tenAMinute},
	{"a URL for a path", start + "    when: {path: \"https://example.com/v1/**\"}\n" + tenAMinute},
	{"a path without its slash", start + "    when: {path: api/**}\n" + tenAMinute},
	{"a parameter in a path", start + "    when: {path: \"/users/{id}\"}\n" + tenAMinute},
	{"two methods in one text", start + "    when: {methods: GET POST}\n" + tenAMinute},
	{"an address for a network", "rules: []\ndeny: [{cidrs: 203.0.113.9}]\n"},
	{"an address for a selector", "deny: [203.0.113.9]\n" + start + tenAMinute},
	{"an unknown algorithm", start + "    limits: [{capacity: 10, window: 60s, algorithm: gcra}]\n"},
	{"a burst without a bucket", start + "    limits: [{capacity: 10, window: 60s, burst: 20}]\n"},
	{"a cost above the capacity", start + "    cost: 20\n" + tenAMinute},
	{"an override without the prefix of its key", rule + "    key: \"user:{jwt.sub}\"\n" + tenAMinute + "overrides:\n  api: {\"241531\": {capacity: 100}}\n"},
	{"an override of a rule that does not exist", start + tenAMinute + "overrides:\n  apy: {\"ip:203.0.113.9\": {capacity: 100}}\n"},
	{"a plan that nothing names", start + tenAMinute + "plans: {pro: {api: 100}}\n"},
}

// useless are files that are valid and do not do what was meant.
var useless = []mistake{
	{"a key that names a source without braces", rule + "    key: ip\n" + tenAMinute},
	{"a key without a source", rule + "    key: clients\n" + tenAMinute},
	{"a shell's variable for a source", rule + "    key: \"${ip}\"\n" + tenAMinute},
	{"a key that the client makes up", rule + "    key: \"user:{header.x-user}\"\n" + tenAMinute},
	{"a method that does not exist", start + "    when: {methods: GTE}\n" + tenAMinute},
	{"a path with a query", start + "    when: {path: \"/search?q=*\"}\n" + tenAMinute},
	{"a regular expression after a slash", start + "    when: {path: \"/api/.*\"}\n" + tenAMinute},
	{"a parameter with a colon", start + "    when: {route: \"/users/:id\"}\n" + tenAMinute},
	{"a parameter in angle brackets", start + "    when: {route: \"/users/<int:id>\"}\n" + tenAMinute},
	{"alternatives of a regular expression", start + "    when: {path: \"/(a|b)/**\"}\n" + tenAMinute},
	{"a skip that covers a rule", "rules: [{name: api, key: \"ip:{ip}\", limit: 10/minute}]\nskip: [{path: /**}]\n"},
	{"an exception that covers the rule", start + "    when: {methods: GET}\n    unless: {methods: [GET, HEAD]}\n" + tenAMinute},
	{"requests that cost nothing", start + "    cost: 0\n" + tenAMinute},
	{"a ban of a method that does not exist", "rules: []\ndeny: [{methods: DELTE}]\n"},
	{"credentials for a method that does not exist", "rules: []\nauthentication: {api_key: {}, required: [{methods: DELTE}]}\n"},
	{"claims of keys that have none", "rules: []\nauthentication: {api_key: {from: api_gateway}, pass_claims: sub}\n"},
	{"a rule for callers that are known", start + "    when: {caller: known}\n" + tenAMinute},
	{"a rule for a claim", start + "    when: {match: {jwt.plan: pro}}\n" + tenAMinute},
	{"a key of a claim", rule + "    key: \"user:{jwt.sub}\"\n" + tenAMinute},
	{"a key with an API key in it", rule + "    key: \"{ip}|{apikey}\"\n" + tenAMinute},
	{"a ban of a claim", "rules: []\ndeny: [{match: {jwt.sub: user-666}}]\n"},
	{"plans by a claim", start + tenAMinute + "plan: {from: jwt.plan}\nplans: {pro: {api: 100}}\n"},
}

// TestMistakes compares testdata/mistakes.md with the messages for each file.
func TestMistakes(t *testing.T) {
	var b strings.Builder
	b.WriteString("# The messages of slidegate rules validate for usual mistakes\n")
	section := func(title, about string, files []mistake, says func(m mistake) []string) {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| Mistake | In the file | Message |\n|---|---|---|\n", title, about)
		for _, m := range files {
			messages := says(m)
			if len(messages) == 0 {
				t.Errorf("%s: no message", m.what)
				continue
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", m.what, inCell(lineOf(m.file, messages[0])), inCell(messages...))
		}
	}
	section("Not YAML", "The file cannot be read at all, so there is one message.", notYAML, errorsOf)
	section("Refused", "The file is YAML, and no valid document. `apply` publishes nothing.", refused, errorsOf)
	section("Valid and useless", "`validate`, `apply` and `explain` warn. `apply` publishes the file all the same. `key: all` says that one counter\n"+
		"for all requests is meant, and draws no warning.", useless, warningsOf)
	golden.Check(t, "testdata/mistakes.md", b.String())
}

func errorsOf(m mistake) (messages []string) {
	_, err := rulefile.Parse("", []byte(m.file))
	var all yamlfile.Errors
	errors.As(err, &all)
	for _, e := range all {
		messages = append(messages, strings.TrimPrefix(e.Error(), ":"))
	}
	return messages
}

func warningsOf(m mistake) (messages []string) {
	set, err := rulefile.Parse("", []byte(m.file))
	if err != nil {
		return nil
	}
	for _, w := range slices.Concat(set.Warnings, set.Caveats) {
		messages = append(messages, strings.TrimPrefix(w, ":"))
	}
	return messages
}

// lineOf returns the line that a message is about.
func lineOf(file, message string) string {
	n := 0
	_, _ = fmt.Sscanf(message, "%d:", &n)
	return strings.TrimRight(strings.Split(file, "\n")[n-1], " ")
}

// inCell writes texts as code in a cell of a table.
func inCell(texts ...string) string {
	cells := make([]string, len(texts))
	for i, text := range texts {
		if text = strings.NewReplacer("\t", "⇥", "|", "\\|").Replace(strings.TrimLeft(text, " ")); text != "" {
			cells[i] = "`" + text + "`"
		}
	}
	return strings.Join(cells, "<br>")
}

package rulefile_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// TestAdvice: a person who follows the messages for a mistake has a file without
// mistakes. The test follows the messages itself. Where a person has to decide
// something, the table corrected has the file that follows. Messages about other
// files have no advice.
func TestAdvice(t *testing.T) {
	unused := map[string]bool{}
	for what := range corrected {
		unused[what] = true
	}
	for _, m := range slices.Concat(notYAML, refused, words, shapes, useless) {
		delete(unused, m.what)
		messages := everything(m.file)
		right, stated := corrected[m.what]
		if !stated {
			followAll(t, m, messages)
			continue
		}
		if all := strings.Join(messages, "\n"); right.advice == "" || !strings.Contains(all, right.advice) {
			t.Errorf("%s: no message has %q: %s", m.what, right.advice, all)
		}
		if !strings.Contains(right.file, right.advice) && !withoutText.MatchString(right.advice) {
			t.Errorf("%s: the corrected file lacks %q", m.what, right.advice)
		}
		if problems := wrong(right.file, messages); len(problems) > 0 {
			t.Errorf("%s: the corrected file is wrong: %q", m.what, problems)
		}
	}
	for what := range unused {
		t.Errorf("%q is corrected, and no mistake", what)
	}
}

// wrong returns the errors for a file, and its warnings. Of these it leaves out
// those that follow from the short files here, unless messages had them before.
func wrong(file string, before []string) []string {
	reasons := strings.Join(before, "\n")
	return append(errorsOf(mistake{file: file}), slices.DeleteFunc(warningsOf(mistake{file: file}), func(w string) bool {
		return ofShortFiles.MatchString(w) && !strings.Contains(reasons, place.ReplaceAllString(w, ""))
	})...)
}

// ofShortFiles are warnings about files with one rule and no authentication.
var ofShortFiles = regexp.MustCompile("credentials are not verified|the client can make up|no other rule for the same|the client sets|" +
	"does not state its cost|behind an authorizer a place|a secret, into tables|a REST API answers denied|to drain")

// everything returns the errors and the warnings for a file.
func everything(file string) []string {
	return append(errorsOf(mistake{file: file}), warningsOf(mistake{file: file})...)
}

// followAll follows the first advice of each message, and then the other advice
// that messages offer, one at a time.
func followAll(t *testing.T, m mistake, messages []string) {
	for other, others := 0, 0; other <= others; other++ {
		f := edited{written: map[*yaml.Node]bool{}}
		if err := yaml.Unmarshal([]byte(m.file), &f.root); err != nil {
			t.Errorf("%s: it is no YAML: add the file that follows %q to the table corrected", m.what, messages)
			return
		}
		seen := 0
		for _, message := range messages {
			all := adviceIn(message)
			chosen := 0
			if seen < other && other < seen+len(all) {
				chosen = other - seen
			}
			if seen += len(all) - 1; !f.follow(message, all, chosen) {
				t.Errorf("%s: add the file that follows %q to the table corrected", m.what, messages)
				return
			}
		}
		others = seen
		if text := f.text(); len(wrong(text, messages)) > 0 {
			t.Errorf("%s: following %q leads to %q:\n%s", m.what, messages, wrong(text, messages), text)
		}
	}
}

// edited is a file that advice changes. Places are those of the original file.
type edited struct {
	root    yaml.Node
	removed []*yaml.Node // values, and names with their values
	written map[*yaml.Node]bool
}

var (
	place      = regexp.MustCompile(`^(\d+):(\d+): `)
	meantWord  = regexp.MustCompile(`(\{?[^\s:]+\}?): did you mean (.+)\?$`)
	afterwards = regexp.MustCompile(`, (?:which|for|and its|and indent|and the window|so that|in place of|or remove|or another window|or a|or an)\b.*`)
	aboutName  = regexp.MustCompile("unknown field|there is no rule|is there twice|is no key of|is not used")
	isList     = regexp.MustCompile(`^\w+(?:, \w+)* or \w+$`)
	asides     = regexp.MustCompile(` for seconds$| if that is meant$| for verified callers| if a header holds the value$|, or another window$`)
	plans      = regexp.MustCompile(`^(?:(.+), )?(plan: .+) and (plans: .+)$`)
	isWord     = regexp.MustCompile(`^\S+$`)
	isEntry    = regexp.MustCompile(`^[a-z_]+: .`)
	whole      = regexp.MustCompile(`^a (?:whole )?number from (\d+) to .*`)
	replaced   = regexp.MustCompile(`,? in place of (.+)$`)
)

// adviceIn returns what a message says to write, each of the ways in turn.
func adviceIn(message string) (all []string) {
	if m := meantWord.FindStringSubmatch(message); m != nil {
		return []string{m[2]}
	}
	message = asides.ReplaceAllString(message, "")
	_, text, ok := strings.Cut(message, ": remove ")
	if ok {
		_, text, _ = strings.Cut(text, ", or write ")
		all = append(all, "")
	} else {
		_, text, _ = strings.Cut(message, ": write ")
	}
	if text == "" {
		return all
	}
	text = replaced.ReplaceAllString(text, "")
	if text == "remove it" || strings.HasSuffix(message, ": remove the rule") {
		return []string{""}
	}
	ways := []string{text}
	if first, second, ok := strings.Cut(text, ", or "); ok && !strings.Contains(first, ": {from: ") {
		ways = []string{first, strings.TrimPrefix(second, "write ")}
	}
	if isList.MatchString(text) {
		ways = strings.Split(strings.Replace(text, " or ", ", ", 1), ", ")
	}
	for _, way := range ways {
		way = strings.TrimPrefix(way, "the network ")
		if _, example, ok := strings.Cut(way, " such as "); ok {
			way, _, _ = strings.Cut(example, ", ")
			way, _, _ = strings.Cut(way, " or ")
		}
		if way == "remove it" {
			way = ""
		}
		way = whole.ReplaceAllString(way, "$1")
		all = append(all, afterwards.ReplaceAllString(way, ""))
	}
	return all
}

// follow makes one of the changes that a message asks for; false if it cannot.
func (f *edited) follow(message string, all []string, chosen int) bool {
	var line, column int
	_, _ = fmt.Sscanf(message, "%d:%d:", &line, &column)
	atKey := aboutName.MatchString(message)
	key, value, in := f.find(line, column, atKey)
	if len(all) == 0 || value == nil {
		return false
	}
	write := all[chosen]
	if m := replaced.FindStringSubmatch(message); m != nil && m[1] != "the rule" {
		for name := range strings.SplitSeq(strings.ReplaceAll(m[1], " and ", ", "), ", ") {
			for i := 0; i < len(in.Content); i += 2 {
				if in.Content[i].Value == name {
					f.removed = append(f.removed, in.Content[i], in.Content[i+1])
				}
			}
		}
	} else if m != nil || strings.HasSuffix(message, ": remove the rule") {
		return f.replaceRule(line, write)
	}
	write, top := strings.CutSuffix(write, " at the top of the document")
	if m := plans.FindStringSubmatch(write); m != nil && top {
		ok := f.set(f.root.Content[0], m[2]) && f.set(f.root.Content[0], m[3])
		if write = m[1]; !ok || atKey {
			f.removed = append(f.removed, key, value)
			return ok
		}
	}
	switch m := meantWord.FindStringSubmatch(message); {
	case m != nil && atKey:
		key.Value = write
	case m != nil:
		value.Value = strings.Replace(value.Value, m[1], write, 1)
	case write == "" && key != nil:
		f.removed = append(f.removed, key, value)
	case write == "":
		f.removed = append(f.removed, value)
	case atKey && isEntry.MatchString(write):
		f.removed = append(f.removed, key, value)
		if top {
			in = f.root.Content[0]
		}
		return f.set(in, write)
	case atKey:
		key.Value = write
		return isWord.MatchString(write)
	case strings.Contains(message, " is missing"):
		return f.set(value, write)
	case isEntry.MatchString(write) && top:
		return f.set(f.root.Content[0], write)
	case isEntry.MatchString(write):
		return f.set(in, write)
	case value.Kind == yaml.ScalarNode && value.Style != 0 && !regexp.MustCompile(`^(\d+|true|false)$`).MatchString(write) && !strings.ContainsAny(write[:1], `"[`):
		value.Value = write // between the quotes that are there
	default:
		new := parsed(write)
		if len(new) != 1 {
			return false
		}
		*value = *new[0]
	}
	return true
}

// set writes an entry into a map, in place of the one with its name that the
// original has.
func (f *edited) set(in *yaml.Node, write string) (ok bool) {
	for i := 0; i < len(in.Content); i += 2 {
		if name, _, _ := strings.Cut(write, ":"); in.Content[i].Value == name && !f.written[in.Content[i]] {
			f.removed = append(f.removed, in.Content[i], in.Content[i+1])
		}
	}
	entry := parsed(write)
	for _, n := range entry {
		f.written[n] = true
	}
	in.Content = append(in.Content, entry...)
	return len(entry) == 2
}

// parsed returns the value that a text is, or the names and values of a map
// without braces.
func parsed(text string) []*yaml.Node {
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil || len(n.Content) == 0 {
		return nil
	}
	if value := n.Content[0]; isEntry.MatchString(text) {
		return value.Content
	}
	return n.Content[:1]
}

// replaceRule writes an entry at the top in place of the rule that has a line.
func (f *edited) replaceRule(line int, write string) bool {
	top := f.root.Content[0]
	for i := 0; i < len(top.Content); i += 2 {
		if top.Content[i].Value != "rules" {
			continue
		}
		list := top.Content[i+1]
		for r := len(list.Content) - 1; r >= 0; r-- {
			if list.Content[r].Line <= line {
				f.removed = append(f.removed, list.Content[r])
				top.Content = append(top.Content, parsed(strings.TrimSuffix(write, " at the top of the document"))...)
				return true
			}
		}
	}
	return false
}

// find returns what stands at a place, the name before it, and the map or list
// that it is in: the name itself if a name stands there and is asked for, else
// the whole value that begins there.
func (f *edited) find(line, column int, name bool) (key, value, in *yaml.Node) {
	var search func(n *yaml.Node)
	search = func(n *yaml.Node) {
		for i, child := range n.Content {
			isName := n.Kind == yaml.MappingNode && i%2 == 0
			if child.Line == line && child.Column == column && value == nil && isName == name {
				value, in = child, n
				if n.Kind == yaml.MappingNode {
					key, value = n.Content[i&^1], n.Content[i|1]
				}
			}
			search(child)
		}
	}
	search(&f.root)
	return key, value, in
}

// text returns the changed file.
func (f *edited) text() string {
	var prune func(n *yaml.Node)
	prune = func(n *yaml.Node) {
		n.Content = slices.DeleteFunc(n.Content, func(c *yaml.Node) bool { return slices.Contains(f.removed, c) })
		for _, child := range n.Content {
			prune(child)
		}
	}
	prune(&f.root)
	var b bytes.Buffer
	_ = yaml.NewEncoder(&b).Encode(&f.root)
	return b.String()
}

// withoutText is advice that has no text of the corrected file.
var withoutText = regexp.MustCompile("^(?:remove|indent|write (?:spaces|a plain one))")

// corrected has the files that follow advice that a person has to apply, and the
// words of the messages that these files have.
var corrected = map[string]struct{ advice, file string }{
	"a weight as text": {"0.5", start + "    cost: {from: header.x-max-tokens, min: 1, max: 9, settle: true, weights: {output_tokens: 0.5}}\n" + tenAMinute},
	"a comma is missing between fields in braces":        {"window", start + tenAMinute},
	"a comma is missing after a text in quotes":          {"limits", "rules:\n  - {name: api, key: \"ip:{ip}\", limits: [{capacity: 10, window: 60s}]}\n"},
	"a brace is never closed":                            {"}", start + "    limits: [{capacity: 10, window: 60s}]\n"},
	"a brace too many":                                   {"remove it", start + "    limit: {capacity: 10, window: 60s}\n"},
	"a tab indents a line":                               {"indent with spaces", start + tenAMinute},
	"a tab follows the dash":                             {"write spaces", start + tenAMinute},
	"a field is indented too far":                        {"name", start + tenAMinute},
	"no space after the dash":                            {"- name: api", start + tenAMinute},
	"no space after the colon":                           {`key: "ip:{ip}"`, start + tenAMinute},
	"an equal sign in place of the colon":                {`key: "ip:{ip}"`, start + tenAMinute},
	"a quote is never closed":                            {`"`, start + tenAMinute},
	"a quote is closed by that of a later line":          {`"`, start + tenAMinute + "  - name: search\n" + byIP + tenAMinute},
	"the first dash beside the name of the list":         {"- name: api", start + tenAMinute},
	"a route with a parameter, without quotes in braces": {`"/users/{id}"`, start + "    when: {route: \"/users/{id}\", methods: GET}\n" + tenAMinute},
	"a key without quotes in braces":                     {`"ip:{ip}"`, "rules:\n  - {name: api, key: \"ip:{ip}\", limits: [{capacity: 10, window: 60s}]}\n"},
	"a star without quotes":                              {`"*"`, start + "    when: {match: {stage: \"*\"}}\n" + tenAMinute},
	"a star and text without quotes":                     {`"*.json"`, start + "    when: {match: {stage: \"*.json\"}}\n" + tenAMinute},
	"a backslash in double quotes":                       {`\`, start + "    when: {match: {stage: '\\d'}}\n" + tenAMinute},
	"a colon inside a text without quotes":               {`"deny: all"`, start + "    when: {match: {stage: \"deny: all\"}}\n" + tenAMinute},
	"a no-break space after the colon":                   {"write a plain one", start + tenAMinute},
	"curly quotes around text with braces":               {`"`, "rules:\n  - {name: api, key: \"ip:{ip}\", limit: 10/minute}\n"},
	"the file is empty":                                  {"rules: []", "rules: []\n"},
	"a list at the top":                                  {"rules:", start + tenAMinute},
	"rules without dashes":                               {"- ", start + tenAMinute},
	"fields beside their rule":                           {`key: "ip:{ip}"`, start + tenAMinute},
	"a limit that is no list":                            {"[{", start + tenAMinute},
	"two rules with one name":                            {"name", start + tenAMinute + "  - name: search\n" + byIP + tenAMinute},
	"a parameter in a path":                              {"*", start + "    when: {path: /users/*}\n" + tenAMinute},
	"a cost above the capacity":                          {"over: clamp", start + "    cost: 20\n    limits: [{capacity: 10, window: 60s, over: clamp}]\n"},
	"a comma in a number, without quotes":                {"000", start + "    limits: [{capacity: 1000, window: 60s}]\n"},
	"true in quotes":                                     {"true", "hash_secret: {env: KEY_SECRET, check: \"1a2b3c4d\"}\n" + rule + "    hash: true\n" + byIP + tenAMinute},
	"a source with a fallback":                           {`key: "user:{jwt.sub}"`, twoRules},
	"two sources in one pair of braces":                  {`key: "user:{jwt.sub}"`, twoRules},
	"curly quotes around a key":                          {`"`, start + tenAMinute},
	"a no-break space in a value":                        {"write a plain one", withWindow("1m")},
	"curly quotes around a value to match":               {"'", start + "    when: {match: {jwt.plan: 'pro'}}\n" + tenAMinute},
	"rules by name":                                      {"- name: api", start + tenAMinute},
	"a list for one limit":                               {"limits", start + "    limits: [10/minute]\n"},
	"requests at once":                                   {"{in_flight: 5, expires: 60s}", start + "    limits: [{capacity: 10, window: 60s}, {in_flight: 5, expires: 60s}]\n"},
	"limit and limits":                                   {"limits", start + "    limits: [10/minute, 100/hour]\n"},
	"deny as a map":                                      {"[{", "deny: [{cidrs: 203.0.113.0/24}]\n" + start + tenAMinute},
	"plans in a list":                                    {"{pro: {api: ", start + tenAMinute + "plan: {from: jwt.plan}\nplans: {pro: {api: 100}}\n"},
	"a plan that is a number":                            {"{api: ", start + tenAMinute + "plan: {from: jwt.plan}\nplans: {pro: {api: 100}}\n"},
	"overrides in a list":                                {"{api: {\"", start + "    overrides: true\n" + tenAMinute + "overrides: {api: {\"ip:203.0.113.9\": {capacity: 100}}}\n"},
	"an override of 0":                                   {"100/minute", start + "    overrides: true\n" + tenAMinute + "overrides: {api: {\"ip:203.0.113.9\": {limits: [100/minute]}}}\n"},
	"trusted as a boolean":                               {"path.partner", rule + "    key: \"{path.partner}\"\n    trusted: path.partner\n" + tenAMinute},
	"a name with capitals and spaces":                    {"my-api", "rules:\n  - name: my-api\n" + byIP + tenAMinute},
	"a name of another alphabet":                         {"1", "rules:\n  - name: api-1\n" + byIP + tenAMinute},
	"a name of a limit with an underscore":               {"per-minute", start + "    limits: [{name: per-minute, capacity: 10, window: 60s}]\n"},
	"plans in a limit":                                   {"when: {match: {jwt.plan: free}}", start + "    unless: {match: {jwt.plan: [free, pro]}}\n    limit: 1/minute\n  - name: free\n    when: {match: {jwt.plan: free}}\n" + byIP + "    limit: 10/minute\n  - name: pro\n    when: {match: {jwt.plan: pro}}\n" + byIP + "    limit: 100/minute\n"},
	"plans in limits":                                    {"when: {match: {jwt.plan: free}}", start + "    unless: {match: {jwt.plan: [free, pro]}}\n    limit: 1/minute\n  - name: free\n    when: {match: {jwt.plan: free}}\n" + byIP + "    limit: 10/minute\n  - name: pro\n    when: {match: {jwt.plan: pro}}\n" + byIP + "    limit: 100/minute\n"},
	"three plans in a limit":                             {"when: {match: {jwt.plan: free}}", start + "    unless: {match: {jwt.plan: [free, pro]}}\n    limit: 1/minute\n  - name: free\n    when: {match: {jwt.plan: free}}\n" + byIP + "    limit: 10/minute\n  - name: pro\n    when: {match: {jwt.plan: pro}}\n" + byIP + "    limit: 100/minute\n"},
	"plans of several windows in a limit":                {"when: {match: {jwt.plan: free}}", start + "    unless: {match: {jwt.plan: [free, pro]}}\n    limit: 1/minute\n  - name: free\n    when: {match: {jwt.plan: free}}\n" + byIP + "    limit: 10/minute\n  - name: pro\n    when: {match: {jwt.plan: pro}}\n" + byIP + "    limit: 10000/hour\n"},
	"a country in a selector":                            {"match: {country: FR}", "client_ip: {header: cloudfront-viewer-address, secret: {header: x-origin-secret, env: ORIGIN_SECRET}}\n" + start + "    when: {match: {country: FR}}\n" + tenAMinute},
	"limits by method":                                   {"when: {methods: GET}", start + "    when: {methods: GET}\n    limit: 100/minute\n  - name: writes\n    when: {methods: POST}\n" + byIP + "    limit: 10/minute\n"},
	"limits by path":                                     {"when: {path: /login}", start + "    when: {path: /login}\n    limit: 10/minute\n  - name: search\n    when: {path: /search}\n" + byIP + "    limit: 100/minute\n"},
	"limits by caller":                                   {"when: {caller: anonymous}", start + "    when: {caller: anonymous}\n    limit: 10/minute\n"},
	"a path in match":                                    {"path", start + "    when: {path: /login}\n" + tenAMinute},
	"a key by two names":                                 {`"{jwt.tenant}|{jwt.sub}"`, rule + "    key: \"{jwt.tenant}|{jwt.sub}\"\n" + tenAMinute},
	"a key that the client makes up":                     {`"ip:{ip}"`, rule + "    key: \"user:{header.x-user}\"\n" + tenAMinute + "  - name: address\n" + byIP + tenAMinute},
	"a secret in a key":                                  {`hash_secret: {env: KEY_SECRET, check: "1a2b3c4d"}`, "hash_secret: {env: KEY_SECRET, check: \"1a2b3c4d\"}\n" + rule + "    hash: true\n    key: \"{ip}|{header.authorization}\"\n" + tenAMinute + "  - name: address\n" + byIP + tenAMinute},
	"a path with a query":                                {"/search", start + "    when: {path: /search}\n" + tenAMinute},
	"a skip that covers a rule":                          {"skip", "rules: [{name: api, key: \"ip:{ip}\", limit: 10/minute}]\nskip: [{path: /health}]\n"},
	"an exception that covers the rule":                  {"unless", start + "    when: {methods: GET}\n    unless: {path: /health}\n" + tenAMinute},
	"requests that cost nothing":                         {"cost: 1", start + "    cost: 1\n" + tenAMinute},
	"claims of keys that have none":                      {"authentication", "rules: []\nauthentication: {api_key: {from: api_gateway}}\n"},
	"a rule for callers that are known":                  {"authentication", verified + start + "    when: {caller: known}\n" + tenAMinute},
	"a rule for a claim":                                 {"authentication", verified + start + "    when: {match: {jwt.plan: pro}}\n" + tenAMinute},
	"a key of a claim":                                   {"authentication", verified + rule + "    key: \"user:{jwt.sub}\"\n" + tenAMinute},
	"a key with an API key in it":                        {"authentication", "authentication: {api_key: {}}\n" + rule + "    key: \"{ip}|{apikey}\"\n" + tenAMinute},
	"plans by a claim":                                   {"authentication", verified + start + tenAMinute + "plan: {from: jwt.plan}\nplans: {pro: {api: 100}}\n"},
}

// Parts of corrected files.
const (
	verified = "authentication: {jwt: [{issuer: 'https://a.example', audience: x}]}\n"
	twoRules = verified +
		"rules:\n  - {name: known, when: {caller: known}, key: \"user:{jwt.sub}\", limit: 10/minute}\n" +
		"  - {name: others, when: {caller: anonymous}, key: \"ip:{ip}\", limit: 10/minute}\n"
)

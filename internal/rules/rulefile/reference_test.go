package rulefile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/test/golden"
)

// sections are the headings of docs/rules-reference.md and what stands below
// each, by the name of the fields' place in the schema.
var sections = []struct {
	def            string
	of             any // whose fields have the order of the section
	heading, about string
}{
	{"", ruledoc.Document{}, "Document", "The fields of the file itself. Only `rules` is required."},
	{"rule", ruledoc.Rule{}, "Rule", "An entry of `rules`. It has either `limit` or `limits`. Names have up to 63 lower-case letters, digits and hyphens, and begin with no " +
		"hyphen. They are unique, and none is `deny`, `unmatched`, `undisclosed` or `plan`."},
	{"selector", ruledoc.Selector{}, "Selector", "`when` and `unless` of a rule, and the entries of `deny` and `skip` ([which requests](rules.md#which-requests))."},
	{"limit", ruledoc.Limit{}, "Limit", "An entry of `limits`, or the only `limit`: a rate such as `100/minute` ([limits](rules.md#limits)), or a map with these fields. " +
		"Names have up to 31 characters."},
	{"cost", ruledoc.Cost{}, "Cost", "A number, or a map with these fields ([cost](rules.md#cost))."},
	{"anchor", ruledoc.Anchor{}, "Anchor", "A day, or a map with these fields."},
	{"defaults", ruledoc.Defaults{}, "Defaults", "`defaults`: values for rules that do not state their own."},
	{"planSource", ruledoc.PlanSource{}, "Plan", "`plan` ([plans](rules.md#plans))."},
	{"override", ruledoc.Override{}, "Override", "An entry of `overrides.RULE`, by key ([overrides](rules.md#overrides)). It has one of the first four fields."},
	{"planOverride", ruledoc.Override{}, "Override of a plan", "An entry of `overrides.plan`, by key. It has one of the first two fields."},
	{"clientIP", ruledoc.ClientIP{}, "Client address", "`client_ip` ([the client's address](rules.md#the-clients-address))."},
	{"proxySecret", ruledoc.ProxySecret{}, "Secret of a proxy", "`client_ip.secret`."},
	{"authentication", ruledoc.Authentication{}, "Authentication", "`authentication` ([authentication](authentication.md))."},
	{"tokenIssuer", ruledoc.TokenIssuer{}, "Issuer of tokens", "An entry of `authentication.jwt`."},
	{"keySource", ruledoc.KeySource{}, "API keys", "`authentication.api_key`; `{}` is enough."},
	{"hashSecret", ruledoc.HashSecret{}, "Hash secret", "`hash_secret` ([hashed keys](rules.md#hashed-keys))."},
	{"denied", ruledoc.Denied{}, "Denied", "`denied` of the document or of a rule ([answers](rules.md#answers))."},
}

// TestReference compares docs/rules-reference.md with the schema, from which it
// is made. go test -update writes it.
func TestReference(t *testing.T) {
	var root schema
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatal(err)
	}
	r := reader(root["$defs"].(schema))
	var b strings.Builder
	b.WriteString("# Every field of a rules file\n\n<!-- Written by `go test ./internal/rules/rulefile -run TestReference -update`. -->\n" +
		"[How rules work](rules.md) explains what the fields do together. Editors complete them by the same texts, the\n[JSON Schema](rules.schema.json).\n")
	for _, s := range sections {
		place := root
		if s.def != "" {
			place = r.object(s.def)
			delete(r, s.def)
		}
		fmt.Fprintf(&b, "\n## %s\n%s\n\n| Field | Values | Means |\n|---|---|---|\n", s.heading, s.about)
		for _, name := range fields(place, reflect.TypeOf(s.of)) {
			property := place["properties"].(schema)[name].(schema)
			doc := property["description"].(string)
			if strings.Index(doc, ". ") > 0 || !strings.HasSuffix(doc, ".") {
				t.Errorf("%s: %s has no help of one sentence: %q", s.heading, name, doc)
			}
			values := r.values(property)
			if required, _ := place["required"].([]any); slices.Contains(required, any(name)) {
				values += "; **required**"
			}
			for _, way := range either(place) {
				if required := way.(schema)["required"].([]any); name != "limit" && name != "limits" && slices.Contains(required, any(name)) {
					values += "; **required** with `" + fmt.Sprint(required[1-slices.Index(required, any(name))]) + "`"
				}
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, strings.ReplaceAll(values, "|", "\\|"), cell(doc))
		}
	}
	for name := range r {
		if r.object(name) != nil && name != "overrideLimit" { // the fields of a limit
			t.Errorf("no section for the fields of %s", name)
		}
	}
	golden.Check(t, "../../../docs/rules-reference.md", b.String())
}

// reader describes parts of the schema in words.
// either returns the ways to state an object's fields.
func either(place schema) []any {
	ways, _ := place["oneOf"].([]any)
	return ways
}

type reader schema

// object returns the form of a named part that is a map with fields, or nil.
func (r reader) object(name string) schema {
	def := r[name].(schema)
	forms, _ := def["anyOf"].([]any)
	for _, form := range append(forms, def) {
		if form := form.(schema); form["properties"] != nil {
			return form
		}
	}
	return nil
}

// values describes the values that a property takes.
func (r reader) values(s schema) string {
	if ref, ok := s["$ref"].(string); ok {
		return r.named(strings.TrimPrefix(ref, "#/$defs/"))
	}
	if forms, ok := s["anyOf"].([]any); ok {
		var words []string
		for _, form := range forms {
			if form := form.(schema); form["type"] == "array" && len(words) > 0 {
				return strings.Join(words, ", or ") + "; or a list"
			}
			words = append(words, r.values(form.(schema)))
		}
		return strings.Join(words, ", or ")
	}
	if enum, ok := s["enum"].([]any); ok {
		return quoted(enum, ", ")
	}
	switch s["type"] {
	case "array":
		return "list of " + r.values(s["items"].(schema))
	case "boolean":
		return "`true`, `false`"
	case "integer":
		return fmt.Sprintf("%s to %s", number(s["minimum"]), number(s["maximum"]))
	case "number":
		return "a number"
	case "object":
		return "map of " + r.values(s["additionalProperties"].(schema))
	case "string":
		if examples, ok := s["examples"].([]any); ok {
			return "text, such as " + quoted(examples, ", ")
		}
		return "text"
	}
	return "text, a number, `true` or `false`"
}

// named links to the section of a part, or describes a part that has none.
func (r reader) named(name string) string {
	if name == "overrideLimit" {
		return "[limits](#limit), whose anchor is a day"
	}
	for _, s := range sections {
		if s.def == name {
			return fmt.Sprintf("[%s](#%s)", strings.ToLower(s.heading), strings.ReplaceAll(strings.ToLower(s.heading), " ", "-"))
		}
	}
	return r.values(r[name].(schema))
}

func quoted(values []any, between string) string {
	var words []string
	for _, v := range values {
		words = append(words, fmt.Sprintf("`%v`", v))
	}
	return strings.Join(words, between)
}

// number writes a whole number with commas.
func number(v any) string {
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func cell(text string) string { return strings.NewReplacer("|", "\\|", "*", "\\*").Replace(text) }

// fields returns the fields of a place, those of the Go type in its order first.
func fields(place schema, of reflect.Type) []string {
	var order []string
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		order = append(order, name)
	}
	names := slices.Sorted(maps.Keys(place["properties"].(schema)))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(slices.Index(order, a), slices.Index(order, b)) })
	return names
}

package ruledoc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// ChangeKind says what became of something in a rules document.
type ChangeKind string

// The kinds of changes that Diff reports.
const (
	Added    ChangeKind = "added"
	Removed  ChangeKind = "removed"
	Moved    ChangeKind = "moved"    // rules, in the order of charging
	Changed  ChangeKind = "changed"  // the value of a field
	Counters ChangeKind = "counters" // what happens to the counters of a changed rule
)

// Change is one difference between two rules documents.
type Change struct {
	Kind  ChangeKind `json:"kind"`
	Rule  string     `json:"rule,omitempty"`  // empty for the document; PlanOverrides for overrides of plans
	Limit string     `json:"limit,omitempty"` // its name; empty for the rule, and for its only limit
	Field string     `json:"field,omitempty"` // as the document has it, inner ones after a dot; empty for a whole rule
	Key   string     `json:"key,omitempty"`   // of an override
	// The values before and after, "" for what was not there. Those of Moved are
	// the names of the rules that both documents have. Those of Counters are what
	// names the counters: counter, key, limits and perhaps routes.
	From Value `json:"from,omitempty"`
	To   Value `json:"to,omitempty"`
	// CountersReset says that the counters of an added or changed rule, or of an
	// override's key, start at zero. The units in the old counters are lost.
	CountersReset bool `json:"counters_reset"`
}

const (
	startAtZero  = "its counters start at zero"
	takesOver    = "it continues counters that exist"
	keepsWindows = "its counters keep their windows"
)

// String says in one line what has changed.
func (c Change) String() string {
	line := c.subject() + ": "
	switch c.Kind {
	case Counters:
		return line + c.counters()
	case Added:
		line += "added: " + c.To.String()
	case Removed:
		line += "removed: " + c.From.String()
	case Moved:
		line = fmt.Sprintf("rules are charged in another order: from %s to %s", c.From, c.To)
	case Changed:
		line += fmt.Sprintf("from %s to %s", cmp.Or(c.From.String(), "none"), cmp.Or(c.To.String(), "none"))
	}
	switch {
	case c.Key != "" && c.CountersReset:
		return line + "; " + startAtZero
	case c.Kind == Added && c.Rule != "" && c.Field == "" && !c.CountersReset:
		return line + "; " + takesOver
	}
	return line
}

func (c Change) counters() string {
	switch {
	case c.CountersReset && c.ofPatterns():
		return startAtZero + " where the gateway names no route"
	case c.CountersReset:
		return startAtZero
	case c.From != c.To:
		return takesOver
	}
	return keepsWindows
}

// ofPatterns reports whether the names of counters differ only in the patterns of
// matched routes.
func (c Change) ofPatterns() bool {
	before, _, _ := strings.Cut(string(c.From), withRoutes)
	after, _, ok := strings.Cut(string(c.To), withRoutes)
	return ok && before == after
}

// subject names what has changed: "rule chat, limit tokens, capacity".
func (c Change) subject() string {
	var words []string
	switch c.Rule {
	case "":
	case PlanOverrides:
		words = append(words, "plans")
	default:
		words = append(words, "rule "+c.Rule)
	}
	if c.Limit != "" {
		words = append(words, "limit "+c.Limit)
	}
	switch {
	case c.Key != "":
		words = append(words, c.Field+" of "+c.Key)
	case c.Field != "" && (c.Field != fieldLimits || c.Limit == ""):
		words = append(words, c.Field)
	}
	return strings.Join(words, ", ")
}

// Value is a value in JSON, as the document has it; "" for one that is not
// stated. Equal values are equal texts.
type Value string

// MarshalJSON writes the value itself, and null for one that is not stated.
func (v Value) MarshalJSON() ([]byte, error) { return []byte(cmp.Or(string(v), "null")), nil }

// String writes the value much as a document has it, in one line.
func (v Value) String() string {
	if v == "" {
		return ""
	}
	return Flow(json.RawMessage(v), quoteParts)
}

// fact is one stated value with its place: a Change that says what it is about,
// and its value.
type fact struct {
	about Change
	value Value
}

// whole is the Kind of facts about things that are added and removed.
const whole ChangeKind = "whole"

// facts returns the fields of a struct in their order, except the named ones.
func facts(about Change, of any, but ...string) (all []fact) {
	v := reflect.ValueOf(of)
	prefix := about.Field
	for _, f := range Fields(v.Type()) {
		if !slices.Contains(but, f.Name) {
			about.Field = prefix + f.Name
			all = append(all, fact{about, valueOf(v.FieldByIndex(f.Index).Interface())})
		}
	}
	return all
}

// usual has the values that are not worth a mention, by the fields of rules and
// limits.
var usual = map[string]Value{
	"on_error": valueOf(DefaultOnError), "mode": valueOf(DefaultMode), "cost": "1", "algorithm": valueOf(DefaultAlgorithm),
}

// object writes facts about a rule or a limit as a map, without what is usual.
func object(facts []fact) Value {
	var fields []string
	for _, f := range facts {
		if f.value != "" && f.value != usual[f.about.Field] {
			fields = append(fields, string(valueOf(f.about.Field)+":"+f.value))
		}
	}
	return Value("{" + strings.Join(fields, ",") + "}")
}

// list writes values as a list.
func list(values []Value) Value {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return Value("[" + strings.Join(texts, ",") + "]")
}

// valueOf returns a value as a document has it; "" for one that is not stated.
func valueOf(value any) Value {
	v := reflect.ValueOf(value)
	if !v.IsValid() || v.IsZero() || v.Kind() == reflect.Map && v.Len() == 0 {
		return ""
	}
	encoded, err := marshal(value)
	if err != nil { // of no value that a document can hold
		encoded, _ = json.Marshal(err.Error())
	}
	return Value(encoded)
}

// Flow writes a value of JSON as YAML in one line, with texts as quote writes
// them.
func Flow(value json.RawMessage, quote func(string) string) string {
	if isText(value) {
		var text string
		_ = json.Unmarshal(value, &text)
		return quote(text)
	}
	if value[0] != '{' && value[0] != '[' {
		return string(value)
	}
	names, values := Entries(value)
	parts := make([]string, len(values))
	for i, v := range values {
		if parts[i] = Flow(v, quote); names != nil {
			parts[i] = quote(names[i]) + ": " + parts[i]
		}
	}
	return string(value[:1]) + strings.Join(parts, ", ") + string(value[len(value)-1:])
}

// Entries returns the names and values of a map of JSON in their order, or the
// values of a list; nothing for other values. The JSON must be valid, without
// space around it.
func Entries(value json.RawMessage) (names []string, values []json.RawMessage) {
	d := json.NewDecoder(bytes.NewReader(value))
	for open, _ := d.Token(); d.More(); {
		if open == json.Delim('{') {
			name, _ := d.Token()
			names = append(names, name.(string))
		}
		var v json.RawMessage
		_ = d.Decode(&v)
		values = append(values, v)
	}
	return names, values
}

// quoteParts writes a text so that no part of it is taken for what surrounds it.
func quoteParts(text string) string {
	if text == "" || strings.ContainsAny(text, `,"[]`) {
		return strconv.Quote(text)
	}
	return text
}

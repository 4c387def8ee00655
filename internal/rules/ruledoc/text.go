package ruledoc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

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

// fact is something that a document states: a Change that says what it is about,
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

package ruledoc

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// fact is a field and its value in one line; the text is empty for a field
// that is not stated.
type fact struct{ field, text string }

// facts returns the fields of a struct in their order, but for some.
func facts(of any, but ...string) (all []fact) {
	v := reflect.ValueOf(of)
	for _, f := range Fields(v.Type()) {
		if !slices.Contains(but, f.Name) {
			all = append(all, fact{f.Name, text(v.FieldByIndex(f.Index).Interface())})
		}
	}
	return all
}

// flow writes facts as a map in one line; "" if none is stated.
func flow(facts []fact) string {
	var fields []string
	for _, f := range facts {
		if f.text != "" {
			fields = append(fields, f.field+": "+f.text)
		}
	}
	if len(fields) == 0 {
		return ""
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// text writes a value much as a document has it, in one line; "" for a value
// that is not stated.
func text(value any) string {
	v := reflect.ValueOf(value)
	if !v.IsValid() || v.IsZero() || v.Kind() == reflect.Map && v.Len() == 0 {
		return ""
	}
	encoded, err := marshal(value)
	if err != nil {
		return err.Error() // of no value that a document can hold
	}
	return Flow(encoded, word)
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

// word writes a text so that no part of it is taken for what surrounds it.
func word(text string) string {
	if text == "" || strings.ContainsAny(text, `,"[]`) {
		return strconv.Quote(text)
	}
	return text
}

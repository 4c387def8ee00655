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
	d := json.NewDecoder(bytes.NewReader(encoded))
	d.UseNumber()
	return flowToken(d)
}

// flowToken writes the next value of some JSON as YAML in one line.
func flowToken(d *json.Decoder) string {
	token, err := d.Token()
	if err != nil {
		return err.Error()
	}
	switch token := token.(type) {
	case json.Delim:
		var entries []string
		for d.More() {
			entry := flowToken(d)
			if token == '{' {
				entry += ": " + flowToken(d)
			}
			entries = append(entries, entry)
		}
		end, _ := d.Token()
		return token.String() + strings.Join(entries, ", ") + end.(json.Delim).String()
	case string:
		return word(token)
	case json.Number:
		return token.String()
	case bool:
		return strconv.FormatBool(token)
	}
	return "null"
}

// word writes a text so that no part of it is taken for what surrounds it.
func word(text string) string {
	if text == "" || strings.ContainsAny(text, `,"[]`) {
		return strconv.Quote(text)
	}
	return text
}

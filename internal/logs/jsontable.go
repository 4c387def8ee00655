package logs

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// jsonObject has the fields of a line that is a JSON object, in its order.
// encoding/json only checks the line: decoding it into a map took most of the
// time of a replay.
type jsonObject []member

type member struct{ name, value string } // the value as JSON

// parseObject reads a line. The fields of the object nested, if the line has it,
// are fields of the line too, as "nested.name".
func parseObject(line, nested string) (jsonObject, error) {
	if text := []byte(line); !json.Valid(text) || line[skipSpace(line, 0)] != '{' {
		return nil, plainError(json.Unmarshal(text, new(map[string]json.RawMessage)))
	}
	o := appendMembers(make(jsonObject, 0, 32), line, "")
	if inner := o.raw(nested); nested != "" && strings.HasPrefix(inner, "{") {
		o = appendMembers(o, inner, nested+".")
	}
	return o, nil
}

// appendMembers appends the members of a valid JSON object.
func appendMembers(o jsonObject, text, prefix string) jsonObject {
	for i := skipSpace(text, skipSpace(text, 0)+1); text[i] != '}'; {
		end := valueEnd(text, i)
		name := unquoteJSON(text[i:end])
		i = skipSpace(text, skipSpace(text, end)+1) // past the colon
		end = valueEnd(text, i)
		o = append(o, member{prefix + name, text[i:end]})
		if i = skipSpace(text, end); text[i] == ',' {
			i = skipSpace(text, i+1)
		}
	}
	return o
}

func skipSpace(text string, i int) int {
	for i < len(text) && strings.IndexByte(" \t\r\n", text[i]) >= 0 {
		i++
	}
	return i
}

// valueEnd returns the end of the value that begins at i.
func valueEnd(text string, i int) int {
	for depth := 0; ; i++ {
		switch text[i] {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return i + depth + 1 // that of what is around ends a number
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
}

func unquoteJSON(quoted string) (text string) {
	if text = quoted[1 : len(quoted)-1]; strings.IndexByte(text, '\\') >= 0 || !utf8.ValidString(text) {
		_ = json.Unmarshal([]byte(quoted), &text) // which is valid
	}
	return text
}

// raw returns the last member of a name, as encoding/json does.
func (o jsonObject) raw(name string) string {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].name == name {
			return o[i].value
		}
	}
	return ""
}

// value returns a string's text, and any other value as JSON.
func (o jsonObject) value(name string) string {
	switch raw := o.raw(name); {
	case raw == "null":
		return ""
	case strings.HasPrefix(raw, `"`):
		return unquoteJSON(raw)
	default:
		return raw
	}
}

func (o jsonObject) names() (names []string) {
	for _, m := range o {
		if o.value(m.name) != "" {
			names = append(names, m.name)
		}
	}
	return names
}

// jsonTable is a format whose lines are JSON objects.
type jsonTable struct {
	*table
	nested string // an object whose fields count as fields of the line; "" for none
}

func (t jsonTable) parse(line string, r *record) (bool, error) {
	o, err := parseObject(line, t.nested)
	if err != nil {
		return false, err
	}
	if err := t.read(o, r); err != nil {
		return false, err
	}
	return true, nil
}

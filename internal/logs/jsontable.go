package logs

import (
	"encoding/json"
	"maps"
	"slices"
)

// jsonObject is a line that is a JSON object.
type jsonObject map[string]json.RawMessage

// parseObject reads a line. The fields of the object nested, if the line has it,
// are fields of the line too, as "nested.name".
func parseObject(line, nested string) (jsonObject, error) {
	var o, inner jsonObject
	if err := json.Unmarshal([]byte(line), &o); err != nil {
		return nil, plainError(err)
	}
	if nested != "" && json.Unmarshal(o[nested], &inner) == nil {
		for name, raw := range inner {
			o[nested+"."+name] = raw
		}
	}
	return o, nil
}

// value returns a string's text, and any other value as JSON.
func (o jsonObject) value(name string) string {
	raw := o[name]
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return ""
	case raw[0] != '"':
		return string(raw)
	}
	var text string
	_ = json.Unmarshal(raw, &text) // which is valid
	return text
}

func (o jsonObject) names() []string {
	return slices.DeleteFunc(slices.Collect(maps.Keys(o)), func(name string) bool { return o.value(name) == "" })
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

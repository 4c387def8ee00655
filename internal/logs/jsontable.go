package logs

import (
	"encoding/json"
	"maps"
	"slices"
)

// jsonObject has the fields of a line that is a JSON object.
type jsonObject map[string]json.RawMessage

// parseObject reads a line. The fields of the object nested, if the line has it,
// are fields of the line too, as "nested.name".
func parseObject(line, nested string) (o jsonObject, err error) {
	if err := json.Unmarshal([]byte(line), &o); err != nil {
		return nil, plainError(err)
	}
	var inner jsonObject
	if json.Unmarshal(o[nested], &inner) == nil {
		for name, value := range inner {
			o[nested+"."+name] = value
		}
	}
	return o, nil
}

// value returns a string's text, and any other value as JSON.
func (o jsonObject) value(name string) (text string) {
	raw := o[name]
	if json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	return text // "" for null
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

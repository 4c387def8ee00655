package rulefile

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// Schema returns a JSON Schema (draft 2020-12) of rules files, by which editors
// complete and check them. It is made from the tags that the decoder reads. It
// takes every file that Parse takes, and some that only Parse can refuse.
func Schema() []byte {
	b := builder{}
	root := b.object(reflect.TypeFor[ruledoc.Document]())
	b.distinguishOverrides(root)
	b["rule"]["oneOf"] = []schema{{"required": []string{"limit"}}, {"required": []string{"limits"}}}
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Slidegate rules"
	root["$defs"] = b
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(root) // fails only for types that JSON does not have
	return out.Bytes()
}

type schema = map[string]any

// builder has the schemas of named structs, for several parts to refer to.
type builder map[string]schema

// of returns the schema of values of a type, in a field with these tags.
func (b builder) of(t reflect.Type, tags ruledoc.Tags) schema {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]() {
		return b.named(t, tags)
	}
	if forms, ok := ruledoc.FormsOf(t); ok {
		return b.anyOf(forms, tags)
	}
	if t == reflect.TypeFor[json.Number]() {
		return schema{"type": "number", "minimum": 0}
	}
	switch t.Kind() {
	case reflect.Map:
		return b.mapOf(t, tags)
	case reflect.Slice:
		s := schema{"type": "array", "items": b.of(t.Elem(), tags.Entry()), "minItems": tags.Items[0]}
		if tags.Items[1] > 0 {
			s["maxItems"] = tags.Items[1]
		}
		return s
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Int64:
		return schema{"type": "integer", "minimum": tags.Range[0], "maximum": tags.Range[1]}
	}
	return text(tags)
}

// named returns a reference to the schema of a struct.
func (b builder) named(t reflect.Type, tags ruledoc.Tags) schema {
	name := strings.ToLower(t.Name()[:1]) + t.Name()[1:]
	if _, ok := b[name]; !ok {
		if forms, ok := ruledoc.FormsOf(t); ok {
			b[name] = b.anyOf(forms, tags)
		} else {
			b[name] = b.object(t)
		}
	}
	return reference(name)
}

func reference(name string) schema { return schema{"$ref": "#/$defs/" + name} }

func (b builder) anyOf(forms reflect.Type, tags ruledoc.Tags) schema {
	var all []schema
	for _, f := range ruledoc.Fields(forms) {
		if f.Type.Kind() == reflect.Struct {
			all = append(all, b.object(f.Type))
			continue
		}
		form := b.of(f.Type, tags.With(f.Tag))
		if inner, ok := form["anyOf"].([]schema); ok { // an entry of several forms
			all = append(all, inner...)
		} else {
			all = append(all, form)
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return schema{"anyOf": all}
}

func (b builder) object(t reflect.Type) schema {
	properties, required := schema{}, []string{}
	for _, f := range ruledoc.Fields(t) {
		property := b.of(f.Type, f.Tags)
		property["description"] = f.Tags.Doc
		properties[f.Name] = property
		if f.Tags.Need != "" {
			required = append(required, f.Name)
		}
	}
	s := schema{"type": "object", "properties": properties, "additionalProperties": false}
	switch {
	case slices.Contains(required, "window"): // unless the limit is one in flight
		s["oneOf"] = []schema{{"required": required}, {"required": []string{"in_flight", "expires"}}}
	case len(required) > 0:
		s["required"] = required
	}
	return s
}

func (b builder) mapOf(t reflect.Type, tags ruledoc.Tags) schema {
	s := schema{"type": "object", "additionalProperties": b.of(t.Elem(), tags.Entry())}
	if len(tags.Names) > 0 {
		s["propertyNames"] = schema{"pattern": tags.Names[0]}
	}
	if tags.Items[0] > 0 {
		s["minProperties"] = tags.Items[0]
	}
	return s
}

func text(tags ruledoc.Tags) schema {
	s := schema{"type": "string"}
	switch {
	case tags.Scalar:
		return schema{"type": []string{"string", "number", "boolean"}}
	case len(tags.Enum) > 0:
		s["enum"] = tags.Enum
	default:
		s["examples"] = []string{strings.Trim(tags.Example, `"`)}
	}
	if tags.Pattern != "" {
		s["pattern"] = tags.Pattern
	}
	return s
}

// distinguishOverrides gives overrides of plans another schema than overrides of
// rules, and limits of overrides another than limits of rules. Each pair shares a
// Go type, so that problems can say where a misplaced field belongs.
func (b builder) distinguishOverrides(root schema) {
	b["planOverride"] = without(b["override"], "capacity", "limits", "unlimited")
	b["override"] = without(b["override"], "plan")
	forms := slices.Clone(b["limit"]["anyOf"].([]schema))
	forms[1] = without(forms[1], "candidate", "in_flight", "expires")
	forms[1]["required"] = forms[1]["oneOf"].([]schema)[0]["required"]
	delete(forms[1], "oneOf")
	b["overrideLimit"] = schema{"anyOf": forms}
	day := maps.Clone(b["anchor"]["anyOf"].([]schema)[0])
	properties := forms[1]["properties"].(schema)
	day["description"] = properties["anchor"].(schema)["description"]
	properties["anchor"] = day
	b["override"]["properties"].(schema)["limits"].(schema)["items"] = reference("overrideLimit")
	overrides := root["properties"].(schema)["overrides"].(schema)
	overrides["properties"] = schema{ruledoc.PlanOverrides: schema{"type": "object", "additionalProperties": reference("planOverride"),
		"description": "Overrides for single callers in all rules: another plan, or no access at all."}}
}

// without returns a copy of an object's schema that lacks some properties.
func without(object schema, names ...string) schema {
	copied, properties := maps.Clone(object), maps.Clone(object["properties"].(schema))
	for _, name := range names {
		delete(properties, name)
	}
	copied["properties"] = properties
	return copied
}

package rules

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Schema returns a JSON Schema (draft 2020-12) of rules documents, so that editors complete and check them. It is made of
// what Parse itself goes by: it takes every document that Parse takes, and some that only Parse sees through.
func Schema() []byte {
	b := schemaBuilder{}
	root := b.schema(setForm)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Slidegate rules"
	root["$defs"] = b
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(root) // fails for what is no text, number, list or map, and there is none
	return out.Bytes()
}

type schema = map[string]any

// schemaBuilder collects the parts of the schema that have a name.
type schemaBuilder map[string]schema

func (b schemaBuilder) schema(f form) schema {
	if f.name == "" {
		return b.whole(f)
	}
	if _, ok := b[f.name]; !ok {
		b[f.name] = b.whole(f)
	}
	return schema{"$ref": "#/$defs/" + f.name}
}

func (b schemaBuilder) whole(f form) schema {
	switch f.kind {
	case aNumber:
		return schema{"type": "integer", "minimum": f.least, "maximum": f.most}
	case aText:
		return textSchema(f)
	case aFlag:
		return schema{"type": "boolean"}
	case aScalar:
		return schema{"type": []string{"string", "number", "boolean"}}
	case aList:
		s := schema{"type": "array", "items": b.schema(*f.entries), "minItems": f.least}
		if f.most > 0 {
			s["maxItems"] = f.most
		}
		return s
	case aMap:
		return b.mapSchema(f)
	}
	either := make([]schema, len(f.either))
	for i, one := range f.either {
		either[i] = b.schema(one)
	}
	return schema{"anyOf": either}
}

func textSchema(f form) schema {
	s := schema{"type": "string"}
	if f.words != nil {
		s["enum"] = f.words
	} else {
		s["examples"] = []string{strings.Trim(f.example, `"`)}
	}
	if f.pattern != nil {
		s["pattern"] = f.pattern.String()
	}
	return s
}

func (b schemaBuilder) mapSchema(f form) schema {
	s := schema{"type": "object", "additionalProperties": false}
	if f.entries != nil {
		s["additionalProperties"] = b.schema(*f.entries)
	}
	if f.pattern != nil {
		s["propertyNames"] = schema{"pattern": f.pattern.String()}
	}
	if f.fields == nil {
		return s
	}
	properties, required := schema{}, []string{}
	for _, field := range f.fields() {
		property := b.schema(field.form)
		property["description"] = field.doc
		properties[field.name] = property
		if field.missing != "" {
			required = append(required, field.name)
		}
	}
	s["properties"] = properties
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

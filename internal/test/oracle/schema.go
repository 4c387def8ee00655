// Package oracle has what tests compare with that shares no code with the
// packages under test: the schema of rules files, and how other servers read a
// path.
package oracle

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/slidegate/slidegate/internal/rules/yamlfile"
)

// SchemaFile returns the path of the schema in docs, from the package under test.
func SchemaFile() string {
	root := "."
	for range 9 {
		if _, err := os.Stat(filepath.Join(root, "docs")); err == nil {
			break
		}
		root = filepath.Join(root, "..")
	}
	return filepath.Join(root, "docs", "rules.schema.json")
}

var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) {
	text, err := os.ReadFile(SchemaFile())
	if err != nil {
		return nil, err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("rules.schema.json", document); err != nil {
		return nil, err
	}
	return c.Compile("rules.schema.json")
})

// Validate returns what the schema finds wrong in a document of plain YAML.
func Validate(t testing.TB, document string) error {
	t.Helper()
	s, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if _, err := yamlfile.Decode("f", []byte(document), &value); err != nil {
		t.Fatal(err)
	}
	return s.Validate(asJSON(value))
}

// asJSON is how an editor sees a value.
func asJSON(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, value := range v {
			v[name] = asJSON(value)
		}
	case []any:
		for i, value := range v {
			v[i] = asJSON(value)
		}
	case json.Number:
		if !json.Valid([]byte(v)) {
			return 0.5 // files take no other numbers as whole ones
		}
	}
	return value
}

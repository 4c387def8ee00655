package apigw

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestContextMap: Map has what the JSON of a context has, and the names in JSON
// are in the order in which a map has them.
func TestContextMap(t *testing.T) {
	var c Context
	var names []string
	for field, value := range reflect.ValueOf(&c).Elem().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		value.SetString(field.Name)
		names = append(names, name)
	}
	encoded, err := json.Marshal(&c)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := json.Unmarshal(encoded, &want); err != nil {
		t.Fatal(err)
	}
	if got := c.Map(); !maps.Equal(got, want) || len(got) != len(names) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if !slices.IsSorted(names) {
		t.Errorf("not sorted: %v", names)
	}
	c.Claims, want["claim_sub"] = map[string]string{"claim_sub": "7"}, "7"
	if got := c.Map(); !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got := (&Context{}).Map(); len(got) != 0 {
		t.Errorf("an empty context has %v", got)
	}
}

package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// objects are texts with what ParseObject says of them: the place of a repeated
// name, the place of an error, or nothing.
var objects = map[string]string{
	`{}`: "", ` {"a": 1} ` + "\r\n\t": "", `{"a": {"a": {"a": []}}}`: "", `[{"a": 1}, {"a": 2}]`: "no JSON object", `"a:b"`: "no JSON object", ``: "0",
	`{"a": 1, "a": 1}`: "/a", `{"a": {"b": 1}, "a": {}}`: "/a", `{"a": {}, "a": {"b": 1, "b": 2}}`: "/a", `{"a": [0, {"b/c": 1, "b/c": 2}]}`: "/a/1/b~1c",
	`{"a": 1, "\u0061": 2}`: "/a", `{"\ud800": 1, "\ud801": 2}`: "/\ufffd", `[{"a": 1, "a": 2}]`: "/0/a",
	`{"a": ":", "b": "\":\"", "c\\": "\\:", "d:": [":"]}`: "", `{"a\":": 1, "a\":": 1}`: `/a":`,
	`{"a": 1} x`: "10", `{"a": 1}}`: "9", `{"a": 1} {"a": 1}`: "10", "{}\u00a0": "3", `{"a": 1`: "7", `{"a": 01}`: "8", `{"a" 1}`: "6",
	strings.Repeat("[", 10001): "10001",
}

func said(err error) string {
	if twice, ok := errors.AsType[*RepeatedError](err); ok {
		return twice.Pointer()
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprint(syntax.Offset)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestParseObject(t *testing.T) {
	for text, want := range objects {
		object, err := ParseObject([]byte(text))
		if said(err) != want || (object == nil) != (err != nil) {
			t.Errorf("%.40s: %v, %v, want %q", text, object, err, want)
		}
	}
	object, _ := ParseObject([]byte(`{"n": 12345678901234567890.50}`))
	if object["n"] != json.Number("12345678901234567890.50") {
		t.Errorf("%v, want all digits", object)
	}
}

// TestParseObjectAllocates: a text is decoded once, and not read as tokens too.
func TestParseObjectAllocates(t *testing.T) {
	text := []byte(`{"method": "GET", "path": "/v1/items", "ip": "203.0.113.9", "headers": {"user-agent": "curl/8.5.0", "accept": "*/*"}}`)
	if n := testing.AllocsPerRun(100, func() { _, _ = ParseObject(text) }); n > 40 {
		t.Errorf("%v allocations, want at most 40", n)
	}
}

// FuzzParseObject: the names that a text has and the names that are left of it
// differ if, and only if, an object repeats one.
func FuzzParseObject(f *testing.F) {
	for text := range objects {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want any
		object, err := ParseObject(data)
		if invalid := json.Unmarshal(data, new(json.RawMessage)); invalid != nil {
			if err == nil || err.Error() != invalid.Error() {
				t.Fatalf("%v, want %v", err, invalid)
			}
			return
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		twice := repeated(json.NewDecoder(bytes.NewReader(data)))
		switch whole, isObject := want.(map[string]any); {
		case twice != nil:
			if said(err) != twice.Pointer() {
				t.Fatalf("%v, want %v", err, twice)
			}
		case !isObject:
			if !errors.Is(err, ErrNoObject) {
				t.Fatalf("%v, want %v", err, ErrNoObject)
			}
		case err != nil || !reflect.DeepEqual(object, whole):
			t.Fatalf("%v, %v, want %v", object, err, whole)
		}
	})
}

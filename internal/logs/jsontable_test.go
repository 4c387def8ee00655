package logs

import (
	"encoding/json"
	"testing"
)

// A line has the members that encoding/json finds, or its error.
func FuzzObject(f *testing.F) {
	for _, line := range []string{
		`{}`, `{"a":1}`, ` { "a" : [1,{"b":"]}"}] , "c":null,"d":-1.5e3 , "e":true}`, `{"a":"\"\\","\u0061":"\ud800","b":{"c":{}}}`,
		`{"a":1,"a":2}`, `{"x":"é` + "\xff" + `"}`, `[1]`, `null`, `{"a"`, ``, `"{"`, `{"a":{"b":1},"a.b":[]}`,
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var want map[string]json.RawMessage
		wantErr := json.Unmarshal([]byte(line), &want)
		o, err := parseObject(line, "")
		if (err != nil) != (wantErr != nil) || len(o) < len(want) {
			t.Fatalf("%q: %d members, error %v; want %d, error %v", line, len(o), err, len(want), wantErr)
		}
		for _, m := range o {
			if _, ok := want[m.name]; !ok {
				t.Errorf("%q: member %q of %v", line, m.name, want)
			}
		}
		for name, raw := range want {
			if got := o.raw(name); got != string(raw) {
				t.Errorf("%q: member %q is %s, want %s", line, name, got, raw)
			}
			var text string
			if json.Unmarshal(raw, &text) == nil && o.value(name) != text {
				t.Errorf("%q: value %q, want %q", line, o.value(name), text)
			}
		}
	})
}

package plain

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
)

// Any text has errors, or the entries that encoding/json finds in it.
func FuzzPlain(f *testing.F) {
	for _, text := range []string{
		`{"user:241531": {"time_window_sec": 1, "capacity": 5, "granularity_sec": 1}}`,
		`{"a": {"time_window_sec": 60, "capacity": 5, "granularity_sec": 0.5}, "b": []}`,
		`{"a": {"x": {"y": [1, {}]}}, "a": 1} 2`, "{\"\xff\\ud800\": null}", `{"a" "b"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		good, bad := 0, 0
		for o, err := range Import("f", bytes.NewReader(text), "api", []limit.Limit{perSecond}) {
			if err != nil {
				bad++
				continue
			}
			good++
			if _, _, err := rulefile.ParseOverride(o.Key, []byte(o.Document)); err != nil || !json.Valid([]byte(o.Document)) {
				t.Fatalf("the override of %s is none: %v: %s", o.Key, err, o.Document)
			}
		}
		var all map[string]map[string]any
		if err := json.Unmarshal(text, &all); bad == 0 && (err != nil || len(all) != good) {
			t.Fatalf("%d entries of %q, and encoding/json: %v, %v", good, text, all, err)
		}
	})
}

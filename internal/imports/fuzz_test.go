package imports

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rulefile"
)

// seeds are the inputs of the golden files.
func seeds(f *testing.F, pattern string) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds: ", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
}

// Any text is an error, or comes to a document that the rules take.
func FuzzEnvoy(f *testing.F) {
	seeds(f, "testdata/envoy/*.yaml")
	f.Add([]byte("domain: d\ndescriptors: [{key: a, value: '\\'}, {key: path, value: /*a, rate_limit: {unit: day}}]"))
	sources, err := ParseSources([]string{"tenant=jwt.tenant", "user=jwt.sub", "plan=apikey", "foo=header.foo", "bar=query.bar", "baz=path.id",
		"generic_key:login=path:/v1/login", "generic_key=any", "key_1=route", "key_2=stage", "a=jwt.a"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Envoy(sources, File{"f", text})
		if err == nil {
			isRules(t, d)
		}
	})
}

func FuzzUsagePlans(f *testing.F) {
	seeds(f, "testdata/usageplans/*.json")
	f.Fuzz(func(t *testing.T, text []byte) {
		if d, err := UsagePlans(File{"f", text}); err == nil {
			isRules(t, d)
		}
		plans := File{"p", []byte(`{"items": [{"id": "p", "throttle": {"rateLimit": 1, "burstLimit": 1}}]}`)}
		if d, err := UsagePlans(plans, PlanKeys{"p", File{"f", text}}); err == nil {
			isRules(t, d)
		}
	})
}

// isRules checks that a document is one, and that what is to be put beside it fits it.
func isRules(t *testing.T, d *Document) {
	t.Helper()
	set, err := rulefile.Parse("imported", d.YAML)
	if err != nil {
		t.Fatalf("%v\nin:\n%s", err, d.YAML)
	}
	for _, o := range d.Overrides {
		override, err := rulefile.ParseOverride(o.Key, []byte(o.Document))
		var key string
		if err == nil {
			key, err = set.OverrideKey(o.Rule, o.Key)
		}
		if err == nil {
			err = set.CheckOverride(o.Rule, key, override)
		}
		if err != nil {
			t.Fatalf("%s of %s: %v\nbeside:\n%s", o.Document, o.Key, err, d.YAML)
		}
	}
}

// Any text is errors, or entries that encoding/json finds in it too.
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
		for o, err := range Plain("f", bytes.NewReader(text), "api", []limit.Limit{perSecond}) {
			if err != nil {
				bad++
				continue
			}
			good++
			if _, err := rulefile.ParseOverride(o.Key, []byte(o.Document)); err != nil || !json.Valid([]byte(o.Document)) {
				t.Fatalf("the override of %s is none: %v: %s", o.Key, err, o.Document)
			}
		}
		var all map[string]map[string]any
		if err := json.Unmarshal(text, &all); bad == 0 && (err != nil || len(all) != good) {
			t.Fatalf("%d entries of %q, and encoding/json: %v, %v", good, text, all, err)
		}
	})
}

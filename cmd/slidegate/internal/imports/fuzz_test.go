package imports_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports/envoy"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports/usageplans"
)

// Any text is an error, or becomes a valid document.
func FuzzEnvoy(f *testing.F) {
	addSeeds(f, "testdata/envoy/*.yaml")
	f.Add([]byte("domain: d\ndescriptors: [{key: a, value: '\\'}, {key: path, value: /*a, rate_limit: {unit: day}}]"))
	sources, err := envoy.ParseSources([]string{"tenant=jwt.tenant", "user=jwt.sub", "plan=apikey", "foo=header.foo", "bar=query.bar", "baz=path.id",
		"generic_key:login=path:/v1/login", "generic_key=any", "key_1=route", "key_2=stage", "a=jwt.a"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := envoy.Import(sources, imports.File{Name: "f", Content: text})
		if err == nil {
			checkRules(t, d)
		}
	})
}

// Any text is an error, or becomes a valid document, as plans and as keys.
func FuzzUsagePlans(f *testing.F) {
	addSeeds(f, "testdata/usageplans/*.json")
	f.Fuzz(func(t *testing.T, text []byte) {
		if d, err := usageplans.Import(imports.File{Name: "f", Content: text}); err == nil {
			checkRules(t, d)
		}
		plans := imports.File{Name: "p", Content: []byte(`{"items": [{"id": "p", "throttle": {"rateLimit": 1, "burstLimit": 1}}]}`)}
		if d, err := usageplans.Import(plans, usageplans.Keys{Plan: "p", File: imports.File{Name: "f", Content: text}}); err == nil {
			checkRules(t, d)
		}
	})
}

// addSeeds adds the files that match a pattern to a fuzz test.
func addSeeds(f *testing.F, pattern string) {
	f.Helper()
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

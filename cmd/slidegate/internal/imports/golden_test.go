package imports_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports/envoy"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports/usageplans"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/yamlfile"
	"github.com/slidegate/slidegate/internal/test/golden"
)

func TestGoldenEnvoy(t *testing.T) {
	headers := []string{"foo=header.foo", "bar=header.bar", "baz=header.baz", "bay=header.bay", "source_cluster=any", "destination_cluster=any"}
	labels := []string{"generic_key:login=path:/v1/login", "generic_key:search=route:/v1/search", "key_1=jwt.a", "key_2=jwt.b", "user=jwt.sub", "cluster=any", "typo=ip"}
	for _, tt := range []struct {
		name  string
		pairs []string
		files []string
	}{
		{"database", []string{"store=jwt.store"}, []string{"database"}},
		{"messages", []string{"kind=jwt.kind", "recipient=jwt./to/number"}, []string{"messages"}},
		{"edge", nil, []string{"edge"}},
		{"users", []string{"tenant=jwt.tenant", "user=jwt.sub"}, []string{"users"}},
		{"headers", headers, []string{"headers"}},
		{"paths", nil, []string{"paths"}},
		{"labels", labels, []string{"labels"}},
		{"merged", []string{"kind=jwt.kind", "recipient=jwt.to"}, []string{"messages", "more-messages"}},
		{"unknown", nil, []string{"headers"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var files []imports.File
			for _, name := range tt.files {
				files = append(files, read(t, "envoy/"+name+".yaml"))
			}
			d, err := envoy.Import(parseSources(t, tt.pairs...), files...)
			if err != nil {
				t.Fatal(err)
			}
			checkGolden(t, "envoy/"+tt.name, d)
		})
	}
}

func TestGoldenUsagePlans(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		keys       [][2]string // plans and files
	}{
		{"single", "single", nil},
		{"plans", "plans", nil},
		{"keys", "plans", [][2]string{{"d4e5f6", "pro-keys"}, {"Team", "team-keys"}, {"m4n5o6", "closed-keys"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var keys []usageplans.Keys
			for _, k := range tt.keys {
				keys = append(keys, usageplans.Keys{Plan: k[0], File: read(t, "usageplans/"+k[1]+".json")})
			}
			d, err := usageplans.Import(read(t, "usageplans/"+tt.file+".json"), keys...)
			if err != nil {
				t.Fatal(err)
			}
			checkGolden(t, "usageplans/"+tt.name, d)
		})
	}
}

func parseSources(t testing.TB, pairs ...string) envoy.Sources {
	t.Helper()
	s, err := envoy.ParseSources(pairs)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// read reads a file below testdata.
func read(t testing.TB, name string) imports.File {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return imports.File{Name: filepath.Base(name), Content: content}
}

// checkGolden checks a document, and compares it with
// testdata/name.golden.yaml: its text, then overrides and losses as comments.
func checkGolden(t *testing.T, name string, d *imports.Result) {
	t.Helper()
	checkRules(t, d)
	checkNoSecrets(t, d)
	file := filepath.Join("testdata", name+".golden.yaml")
	got := d.Text
	for _, o := range d.Overrides {
		got += "# override of plan: " + o.Key + " " + string(o.Document) + "\n"
	}
	for _, l := range d.Lost {
		got += "# lost: " + l.String() + "\n"
	}
	golden.Check(t, file, got)
}

// checkRules checks that a document is valid, and that its overrides fit it.
func checkRules(t testing.TB, d *imports.Result) {
	t.Helper()
	set, err := rulefile.Parse("imported", []byte(d.Text))
	if err != nil {
		t.Fatalf("%v\nin:\n%s", err, d.Text)
	}
	for _, o := range d.Overrides {
		override, _, err := rulefile.ParseOverride(o.Key, o.Document)
		var key string
		if err == nil {
			key, err = set.OverrideKey(ruledoc.PlanOverrides, o.Key)
		}
		if err == nil {
			err = set.CheckOverride(ruledoc.PlanOverrides, key, override)
		}
		if err != nil {
			t.Fatalf("%s of %s: %v\nbeside:\n%s", o.Document, o.Key, err, d.Text)
		}
	}
}

// checkNoSecrets checks that a document repeats no API key of the test files.
func checkNoSecrets(t testing.TB, d *imports.Result) {
	t.Helper()
	all := d.Text
	for _, o := range d.Overrides {
		all += o.Key + string(o.Document)
	}
	for _, l := range d.Lost {
		all += l.String()
	}
	if strings.Contains(all, "not-to-be-copied") {
		t.Errorf("the import repeats an API key:\n%s", all)
	}
}

// odd are texts that have a meaning in YAML, in keys, in patterns or on
// terminals, or that are very long.
var odd = []string{
	"a", "-", "*", "**", "a*", "a*b", "/", "/a", "/a/*", "/a b", "/{x}", "/%41", "/a?b=c", "//a/../b", "/" + strings.Repeat("é", 300), "198.51.100.7",
	"198.51.100.0/24", "2001:db8::1", "a:b|c", "%41", "{ip}", "}", "# x", "a # b", "'", `"`, `\`, "a\nb", "\u2028", "\u0085", "\x7f", "\x1b[31m", "\ufeff",
	"\ufffd", strings.Repeat("<", 99), strings.Repeat("x", 400), "null", "~", "yes", "7", "1e3", ".inf", "GET", "g t", "ANY", "deny", "plan", "é", "\U0001F600",
}

// checkImport checks that a document is valid, and that each loss is one line that
// cannot steer a terminal.
func checkImport(t *testing.T, d *imports.Result) {
	checkRules(t, d)
	for _, l := range d.Lost {
		if strings.ContainsAny(l.String(), "\n\x1b") {
			t.Fatalf("%q breaks the line", l)
		}
	}
}

// Any text is an error, or becomes a valid document.
func FuzzEnvoy(f *testing.F) {
	addSeeds(f, "testdata/envoy/*.yaml")
	f.Add([]byte("domain: d\ndescriptors: [{key: a, value: '\\'}, {key: path, value: /*a, rate_limit: {unit: day}}]"))
	for _, text := range odd {
		text = strings.ReplaceAll(strconv.Quote(text), "<", `\u003c`) // YAML may read "<<" as a merge key
		limited := "value: " + text + ", rate_limit: {unit: day, requests_per_unit: 5, name: " + text + "}"
		var list []string
		for _, key := range []string{"remote_address", "path", "method", "x-a", "user", "plan", "bar", "generic_key", "key_1", text} {
			list = append(list, "{key: "+key+", "+limited+", descriptors: [{key: a, "+limited+"}]}")
		}
		f.Add([]byte("domain: " + text + "\ndescriptors: [" + strings.Join(list, ", ") + "]"))
	}
	sources, err := envoy.ParseSources([]string{"tenant=jwt.tenant", "user=jwt.sub", "plan=apikey", "foo=header.foo", "bar=query.bar", "baz=path.id",
		"generic_key:login=path:/v1/login", "generic_key=any", "key_1=route", "key_2=stage", "a=jwt.a"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := envoy.Import(sources, imports.File{Name: "f", Content: text})
		if err == nil {
			checkImport(t, d)
		}
	})
}

// Any text is an error, or becomes a valid document, as plans and as keys.
func FuzzUsagePlans(f *testing.F) {
	addSeeds(f, "testdata/usageplans/*.json")
	for _, text := range odd {
		text, _ := json.Marshal(text)
		f.Add(bytes.ReplaceAll([]byte(`{"items": [{"id": ODD, "name": ODD, "tags": {ODD: ODD}, "throttle": {"rateLimit": 0.1, "burstLimit": 7},
			"apiStages": [{"apiId": ODD, "stage": ODD, "throttle": {ODD: {"rateLimit": 1}}}], "quota": {"limit": 2, "period": "WEEK"}}]}`), []byte("ODD"), text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if d, err := usageplans.Import(imports.File{Name: "f", Content: text}); err == nil {
			checkImport(t, d)
		}
		plans := imports.File{Name: "p", Content: []byte(`{"items": [{"id": "p", "throttle": {"rateLimit": 1, "burstLimit": 1}}]}`)}
		if d, err := usageplans.Import(plans, usageplans.Keys{Plan: "p", File: imports.File{Name: "f", Content: text}}); err == nil {
			checkImport(t, d)
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

// Of a file without an end, such as /dev/zero, ReadFiles reads enough to refuse
// it.
func TestReadFilesIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long.yaml")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, yamlfile.MaxDocument+2); err != nil {
		t.Fatal(err)
	}
	files, err := imports.ReadFiles(path)
	if err != nil || len(files) != 1 || len(files[0].Content) != yamlfile.MaxDocument+1 {
		t.Errorf("%d files, %v", len(files), err)
	}
}

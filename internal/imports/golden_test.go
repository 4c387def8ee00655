package imports

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// imported is an import that a golden file holds.
type imported struct {
	name string
	do   func(t *testing.T) (*Document, error)
}

func imports() []imported {
	envoy := func(pairs []string, names ...string) func(t *testing.T) (*Document, error) {
		return func(t *testing.T) (*Document, error) {
			var files []File
			for _, name := range names {
				files = append(files, read(t, "envoy/"+name+".yaml"))
			}
			return Envoy(said(t, pairs...), files...)
		}
	}
	plans := func(name string, keys ...[2]string) func(t *testing.T) (*Document, error) {
		return func(t *testing.T) (*Document, error) {
			var given []PlanKeys
			for _, k := range keys {
				given = append(given, PlanKeys{k[0], read(t, "usageplans/"+k[1]+".json")})
			}
			return UsagePlans(read(t, "usageplans/"+name+".json"), given...)
		}
	}
	header := []string{"foo=header.foo", "bar=header.bar", "baz=header.baz", "bay=header.bay", "source_cluster=any", "destination_cluster=any"}
	labels := []string{"generic_key:login=path:/v1/login", "generic_key:search=route:/v1/search", "key_1=jwt.a", "key_2=jwt.b", "user=jwt.sub", "cluster=any", "typo=ip"}
	return []imported{
		{"envoy/database", envoy([]string{"store=jwt.store"}, "database")},
		{"envoy/messages", envoy([]string{"kind=jwt.kind", "recipient=jwt./to/number"}, "messages")},
		{"envoy/edge", envoy(nil, "edge")},
		{"envoy/users", envoy([]string{"tenant=jwt.tenant", "user=jwt.sub"}, "users")},
		{"envoy/headers", envoy(header, "headers")},
		{"envoy/paths", envoy(nil, "paths")},
		{"envoy/labels", envoy(labels, "labels")},
		{"envoy/stars", envoy([]string{"plan=jwt.plan", "region=jwt.region"}, "stars")},
		{"envoy/domains", envoy([]string{"store=jwt.store", "kind=jwt.kind", "recipient=jwt.to"}, "database", "messages", "more-messages")},
		{"envoy/unknown", envoy(nil, "headers")},
		{"usageplans/single", plans("single")},
		{"usageplans/plans", plans("plans")},
		{"usageplans/keys", plans("plans", [2]string{"d4e5f6", "pro-keys"}, [2]string{"Team", "team-keys"}, [2]string{"m4n5o6", "closed-keys"})},
	}
}

// The golden files hold the document as it is written, then the overrides and what is lost, as comments.
func TestGolden(t *testing.T) {
	for _, i := range imports() {
		t.Run(i.name, func(t *testing.T) {
			d, err := i.do(t)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", i.name+".golden.yaml")
			got := string(d.YAML)
			for _, o := range d.Overrides {
				got += "# override of " + o.Rule + ": " + o.Key + " " + o.Document + "\n"
			}
			for _, l := range d.Lost {
				got += "# lost: " + l.String() + "\n"
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

// Whatever is imported is a document that the rules take.
func TestDocumentsAreRules(t *testing.T) {
	for _, i := range imports() {
		t.Run(i.name, func(t *testing.T) {
			d, err := i.do(t)
			if err != nil {
				t.Fatal(err)
			}
			isRules(t, d)
		})
	}
}

// What a key is must not get out: requests are told apart by the key's id.
func TestNoSecrets(t *testing.T) {
	for _, i := range imports() {
		d, err := i.do(t)
		if err != nil {
			t.Fatal(err)
		}
		all := string(d.YAML)
		for _, o := range d.Overrides {
			all += o.Key + o.Document
		}
		for _, l := range d.Lost {
			all += l.String()
		}
		if strings.Contains(all, "not-to-be-copied") {
			t.Errorf("%s repeats an API key", i.name)
		}
	}
}

func read(t *testing.T, name string) File {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return File{filepath.Base(name), content}
}

func said(t *testing.T, pairs ...string) Sources {
	t.Helper()
	s, err := ParseSources(pairs)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

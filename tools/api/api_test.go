package api_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/slidegate/slidegate/tools/api"
)

var update = flag.Bool("update", false, "write the golden files")

// modules has the directories of the published modules by the names of their
// golden files.
var modules = map[string]string{
	"slidegate": "../..", "infra": "../../infra", "slidegategrpc": "../../slidegategrpc", "slidegateotel": "../../slidegateotel",
}

// shared lists the internal packages of the root module that packages of other
// modules import. A program may have another version of the root module than
// theirs, so these packages are contracts between the modules.
var shared = []string{"github.com/slidegate/slidegate/internal/apigw"}

// TestAPI compares the exported API of the published modules with api/*.txt.
// Each line that goes or changes may break a program that imports it.
func TestAPI(t *testing.T) {
	for name, dir := range modules {
		t.Run(name, func(t *testing.T) {
			got, err := api.Module(dir, shared...)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("../../api", name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			recorded, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Split(strings.TrimSpace(string(recorded)), "\n")
			for _, line := range want {
				if !slices.Contains(got, line) {
					t.Errorf("- %s", line)
				}
			}
			for _, line := range got {
				if !slices.Contains(want, line) {
					t.Errorf("+ %s", line)
				}
			}
			if t.Failed() {
				t.Errorf("the exported API is not that of %s. If that is meant, run `make api`, and say so in CHANGELOG.md.", path)
			}
		})
	}
}

// TestInternals: packages that others import use no internal package of another
// module but the shared ones.
func TestInternals(t *testing.T) {
	for name, dir := range modules {
		loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedImports, Dir: dir}, "./...")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range loaded {
			for path := range p.Imports {
				if name != "slidegate" && p.Name != "main" && strings.HasPrefix(path, "github.com/slidegate/slidegate/internal/") && !slices.Contains(shared, path) {
					t.Errorf("%s imports %s, which may change without notice", p.PkgPath, path)
				}
			}
		}
	}
}

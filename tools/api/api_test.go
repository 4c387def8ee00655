// Package api writes the exported API of the published modules as text, for
// tools/api/testdata/*.txt: a change of a contract then shows in a review.
package api

import (
	"flag"
	"fmt"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

var update = flag.Bool("update", false, "write the golden files")

// modules has the directories of the published modules by the names of their
// golden files.
var modules = map[string]string{
	"slidegate": "../..", "infra": "../../infra", "lambdas": "../../infra/lambdas", "limitgrpc": "../../limitgrpc", "limitotel": "../../limitotel",
}

// shared lists the internal packages of the root module that packages of other
// modules import. A program may have another version of the root module than
// theirs, so these packages are contracts between the modules.
var shared = []string{
	"github.com/slidegate/slidegate/internal/lambda/apigw", "github.com/slidegate/slidegate/internal/assemble/meter", "github.com/slidegate/slidegate/internal/lambda/predeploy",
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric", "github.com/slidegate/slidegate/internal/observe/telemetry/watch",
	"github.com/slidegate/slidegate/internal/request",
}

// TestAPI compares the exported API of the published modules with tools/api/testdata/*.txt.
// Each line that goes or changes may break a program that imports it.
func TestAPI(t *testing.T) {
	for name, dir := range modules {
		t.Run(name, func(t *testing.T) {
			got, err := listAPI(dir)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("./testdata", name+".txt")
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
			report := func(sign string, lines, others []string) {
				for _, line := range lines {
					if !slices.Contains(others, line) {
						t.Errorf("%s %s", sign, line)
					}
				}
			}
			report("-", want, got)
			report("+", got, want)
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
		loaded, err := load(dir, packages.NeedName|packages.NeedImports, "./...")
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

// listAPI lists the exported names of the module in a directory, sorted, a line
// for each. It leaves out commands and packages that importers cannot import.
func listAPI(dir string) (lines []string, err error) {
	all, err := load(dir, packages.NeedName, "./...")
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, p := range all {
		if p.Name != "main" && (!strings.Contains(p.PkgPath+"/", "/internal/") || slices.Contains(shared, p.PkgPath)) {
			paths = append(paths, p.PkgPath)
		}
	}
	// Types take a compilation of what these packages import.
	typed, err := load(dir, packages.NeedName|packages.NeedTypes, paths...)
	if err != nil {
		return nil, err
	}
	for _, p := range typed {
		for _, line := range exported(p.Types) {
			lines = append(lines, "pkg "+strings.TrimPrefix(p.PkgPath, "github.com/slidegate/")+", "+line)
		}
	}
	slices.Sort(lines)
	return lines, nil
}

func load(dir string, mode packages.LoadMode, patterns ...string) ([]*packages.Package, error) {
	loaded, err := packages.Load(&packages.Config{Mode: mode, Dir: dir}, patterns...)
	for _, p := range loaded {
		if err == nil && len(p.Errors) > 0 {
			err = p.Errors[0]
		}
	}
	return loaded, err
}

// exported describes the exported names of a package.
func exported(p *types.Package) (lines []string) {
	q := func(other *types.Package) string {
		if other == p {
			return ""
		}
		return other.Name()
	}
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		switch o := o.(type) {
		case *types.TypeName:
			lines = append(lines, typeLines(o, q)...)
		case *types.Const:
			lines = append(lines, types.ObjectString(o, q)+" = "+o.Val().ExactString())
		default:
			lines = append(lines, types.ObjectString(o, q))
		}
	}
	return lines
}

// typeLines describes a type, and each of its exported fields and methods.
func typeLines(o *types.TypeName, q types.Qualifier) (lines []string) {
	head := "type " + o.Name()
	if o.IsAlias() {
		return []string{head + " = " + types.TypeString(types.Unalias(o.Type()), q)}
	}
	switch t := o.Type().Underlying().(type) {
	case *types.Struct:
		lines = append(lines, head+" struct")
		for f := range t.Fields() {
			if f.Exported() {
				lines = append(lines, fmt.Sprintf("%s struct, %s %s", head, f.Name(), types.TypeString(f.Type(), q)))
			}
		}
	case *types.Interface:
		lines = append(lines, head+" interface")
		for m := range t.Methods() {
			lines = append(lines, fmt.Sprintf("%s interface, %s%s", head, m.Name(), signature(m.Type(), q)))
		}
		return lines
	default:
		lines = append(lines, head+" "+types.TypeString(t, q))
	}
	values := types.NewMethodSet(o.Type())
	for m := range types.NewMethodSet(types.NewPointer(o.Type())).Methods() {
		if !m.Obj().Exported() {
			continue
		}
		receiver := "*" + o.Name()
		if values.Lookup(m.Obj().Pkg(), m.Obj().Name()) != nil {
			receiver = o.Name()
		}
		lines = append(lines, fmt.Sprintf("method (%s) %s%s", receiver, m.Obj().Name(), signature(m.Type(), q)))
	}
	return lines
}

// signature returns a function's parameters and results.
func signature(t types.Type, q types.Qualifier) string {
	return strings.TrimPrefix(types.TypeString(t, q), "func")
}

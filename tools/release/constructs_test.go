//go:build e2e

package release

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	constructs = filepath.Join(repo, "dist/constructs")
	apps       = filepath.Join("testdata", "constructs")
)

// testTypeScript: an app with the npm tarball of a release. The compiler checks
// its types, and those of the package.
func testTypeScript(t *testing.T, stranger, cdk string) {
	dir := newApp(t, stranger, filepath.Join(apps, "typescript"))
	run(t, dir, "npm", "ci", "--no-audit", "--no-fund", "--loglevel=error")
	run(t, dir, "npm", "install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error", packed(t, "js/*.tgz"))
	run(t, dir, "node_modules/.bin/tsc", "--strict", "--module", "nodenext", "--target", "es2022", "app.ts", "page.ts")
	testPage(t, dir, "node", "page.js")
	t.Run("protect", func(t *testing.T) { t.Log(run(t, dir, "node", "--test", "protect.test.js")) })
	testResources(t, stranger, dir, "node", "app.js")
	testAPIs(t, dir, cdk, "node app.js")
}

// testPython: an app with the wheel of a release.
func testPython(t *testing.T, stranger, cdk string) {
	dir := newApp(t, stranger, filepath.Join(apps, "python"))
	run(t, dir, "python3", "-m", "venv", "venv")
	pip := []string{"venv/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"}
	run(t, dir, append(pip, "--require-hashes", "--requirement", "requirements.txt")...)
	run(t, dir, append(pip, packed(t, "python/*.whl"))...)
	testPage(t, dir, "venv/bin/python", "page.py")
	testResources(t, stranger, dir, "venv/bin/python", "app.py")
	testAPIs(t, dir, cdk, "venv/bin/python app.py")
}

// testPage runs the code of docs/start/cdk.md, whose template then has the authorizer.
func testPage(t *testing.T, dir string, command ...string) {
	t.Helper()
	out := t.TempDir()
	t.Setenv("CDK_OUTDIR", out)
	run(t, dir, command...)
	if template := string(read(t, filepath.Join(out, "Page.template.json"))); !strings.Contains(template, `"AWS::ApiGateway::Authorizer"`) {
		t.Errorf("%s synthesizes no authorizer:\n%s", command, template)
	}
}

// newApp returns a directory outside the repository with the files of an app, and
// the rules of the Go app.
func newApp(t *testing.T, stranger, source string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "rules.yaml"), read(t, filepath.Join(stranger, "rules.yaml")), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// packed returns the path of a package that `make constructs` made.
func packed(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(constructs, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s has %d files %s, want one: run `make check-release`: %v", constructs, len(found), pattern, err)
	}
	path, err := filepath.Abs(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// testResources: an app synthesizes the very resources, outputs and conditions of
// the Go app, with APIs of each kind. Their Lambdas have the same code, because
// assets are named by their hashes.
func testResources(t *testing.T, stranger, dir string, command ...string) {
	t.Setenv("BACKEND", "http://backend.example")
	for _, kind := range []string{"rest", "http", "websocket"} {
		want := synthesize(t, stranger, kind, "bin/stranger")
		got := synthesize(t, dir, kind, command...)
		if want != got {
			files := &repository{t, t.TempDir()}
			files.write("go.json", want)
			files.write("app.json", got)
			diff := exec.Command("diff", "-u", "go.json", "app.json")
			diff.Dir = files.dir
			lines, _ := diff.Output() // fails, because they differ
			t.Errorf("%s: the template is not that of the Go app:\n%s", kind, lines)
		}
	}
}

// synthesize returns the template of an app as text that does not depend on the
// order of maps and sets, and on how texts are joined.
func synthesize(t *testing.T, dir, kind string, command ...string) string {
	t.Helper()
	out := t.TempDir()
	t.Setenv("CDK_OUTDIR", out)
	run(t, dir, append(command, kind)...)
	var template struct {
		Resources                       map[string]map[string]any
		Outputs, Conditions, Parameters map[string]any
	}
	if err := json.Unmarshal(read(t, filepath.Join(out, "Stranger-"+kind+".template.json")), &template); err != nil {
		t.Fatal(err)
	}
	for _, resource := range template.Resources {
		delete(resource, "Metadata")
		if names, ok := resource["DependsOn"].([]any); ok {
			slices.SortFunc(names, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		}
		resource["Properties"] = flatten(resource["Properties"])
	}
	text, err := json.MarshalIndent(template, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// flatten replaces each join of texts by the list of its parts, without joins
// within, in which no two texts follow each other.
func flatten(value any) any {
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = flatten(value[i])
		}
	case map[string]any:
		if join, ok := value["Fn::Join"].([]any); ok && join[0] == "" {
			return map[string]any{"Fn::Join": parts(join[1].([]any))}
		}
		for name := range value {
			value[name] = flatten(value[name])
		}
	}
	return value
}

func parts(joined []any) (all []any) {
	for _, part := range joined {
		found := []any{flatten(part)}
		if inner, ok := found[0].(map[string]any); ok {
			if list, ok := inner["Fn::Join"].([]any); ok {
				found = list
			}
		}
		for _, f := range found {
			last, text := "", false
			if len(all) > 0 {
				last, text = all[len(all)-1].(string)
			}
			if next, ok := f.(string); ok && text {
				all[len(all)-1] = last + next
			} else {
				all = append(all, f)
			}
		}
	}
	return all
}

//go:build e2e

package release

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestStrangers has a module outside the repository get the modules of a release
// from a Go module proxy, without replace directives. It deploys apps with an API
// of each kind to a local AWS. The release builds the zips in another directory
// than SHA256SUMS lists them from, so both builds have the same bytes. Apps in
// TypeScript and Python, with the packages of the release, do what the Go app does.
func TestStrangers(t *testing.T) {
	copied := newCopy(t)
	copied.release(t)
	stranger := newStranger(t, copied, map[string]string{
		"main.go":      string(read(t, "testdata/stranger/main.go")),
		"rules.yaml":   string(read(t, "testdata/stranger/rules.yaml")),
		"zips/main.go": zipSums, "all/main.go": program, "example/main.go": string(read(t, filepath.Join(repo, "limitgrpc", "example", "main.go"))),
	})
	run(t, stranger, "go", "build", "-o", "bin/", "./...")
	run(t, stranger, "bin/all")
	run(t, stranger, "bin/example")
	t.Run("zips", func(t *testing.T) { testModuleZips(t, stranger) })
	t.Run("go install", func(t *testing.T) { testInstall(t) })

	cdk, err := filepath.Abs(filepath.Join(repo, "infra/cdk.sh"))
	if err != nil {
		t.Fatal(err)
	}
	run(t, stranger, cdk, "bootstrap", "aws://000000000000/us-east-1")
	t.Run("go", func(t *testing.T) { testAPIs(t, stranger, cdk, "bin/stranger") })
	t.Run("typescript", func(t *testing.T) { testTypeScript(t, stranger, cdk) })
	t.Run("python", func(t *testing.T) { testPython(t, stranger, cdk) })
}

// testAPIs deploys an app with an API of each kind.
func testAPIs(t *testing.T, dir, cdk, app string) {
	for kind, denied := range map[string]int{"rest": http.StatusTooManyRequests, "http": http.StatusForbidden, "websocket": http.StatusForbidden} {
		t.Run(kind, func(t *testing.T) { testAPI(t, dir, cdk, app, kind, denied) })
	}
}

// testModuleZips compares the zips in infra/lambdas with those in SHA256SUMS.
func testModuleZips(t *testing.T, stranger string) {
	sums, want := readSums(t), ""
	for _, name := range zipNames {
		want += sums[name] + "  " + name + "\n"
	}
	if got := run(t, stranger, "bin/zips"); got != want {
		t.Errorf("the module's zips:\n%swant those of SHA256SUMS:\n%s", got, want)
	}
}

// testInstall: the command that Go installs knows its version, and says that it
// carries no Lambdas.
func testInstall(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("GOBIN", bin)
	t.Setenv("GOFLAGS", strings.ReplaceAll(os.Getenv("GOFLAGS"), "-mod=mod", ""))
	run(t, bin, "go", "install", root+"/cmd/slidegate@"+version)
	if got := run(t, bin, "./slidegate", "version"); !strings.HasPrefix(got, "slidegate "+version+" (go1.") {
		t.Errorf("the command says %q", got)
	}
	cmd := exec.Command(filepath.Join(bin, "slidegate"), "aws", "deploy", "--yes")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "carries no Lambda code and no template") {
		t.Errorf("aws deploy: %v\n%s", err, out)
	}
}

// testAPI deploys an app, and sends eleven requests to its API, whose rule allows
// ten.
func testAPI(t *testing.T, dir, cdk, command, kind string, denied int) {
	backend := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer backend.Close()
	t.Setenv("BACKEND", backend.URL)
	app, outputs := []string{"--app", command + " " + kind, "--output", "cdk.out/" + kind}, filepath.Join(t.TempDir(), "outputs.json")
	t.Cleanup(func() { run(t, dir, append([]string{cdk, "destroy", "--force"}, app...)...) })
	began := time.Now()
	run(t, dir, append([]string{cdk, "deploy", "--require-approval", "never", "--outputs-file", outputs}, app...)...)
	t.Logf("deployed in %v", time.Since(began).Round(time.Second))

	var stacks map[string]struct {
		APIID string `json:"ApiId"`
	}
	if err := json.Unmarshal(read(t, outputs), &stacks); err != nil {
		t.Fatal(err)
	}
	url, admitted := os.Getenv("AWS_ENDPOINT_URL")+map[string]string{
		"rest":      "/restapis/%s/prod/_user_request_/",
		"http":      "/_aws/execute-api/%s/",
		"websocket": "/_aws/execute-api/%s/prod",
	}[kind], http.StatusOK
	if kind == "websocket" {
		admitted = http.StatusSwitchingProtocols
	}
	url = fmt.Sprintf(url, stacks["Stranger-"+kind].APIID)
	for i := 1; i <= 11; i++ {
		want := admitted
		if i == 11 {
			want = denied
		}
		if got := status(t, url, kind == "websocket"); got != want {
			t.Fatalf("request %d is answered %d, want %d", i, got, want)
		}
	}
}

// status returns the status of a request, or of the handshake of a WebSocket.
func status(t *testing.T, url string, socket bool) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if socket {
		for name, value := range map[string]string{
			"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
		} {
			request.Header.Set(name, value)
		}
	}
	response, err := (&http.Client{Timeout: 30 * time.Second}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

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

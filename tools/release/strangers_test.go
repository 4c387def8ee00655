//go:build e2e

package release

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
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
		"main.go":       string(read(t, "testdata/stranger/main.go")),
		"rules.yaml":    string(read(t, "testdata/stranger/rules.yaml")),
		"plain/main.go": string(read(t, "testdata/plain/main.go")),
		"zips/main.go":  zipSums, "all/main.go": program, "example/main.go": string(read(t, filepath.Join(repo, "limitgrpc", "example", "main.go"))),
	})
	run(t, stranger, "go", "build", "-o", "bin/", "./...")
	run(t, stranger, "bin/all")
	run(t, stranger, "bin/example")
	t.Run("zips", func(t *testing.T) { testModuleZips(t, stranger) })
	t.Run("go install", func(t *testing.T) { testInstall(t) })
	t.Run("synthesis", func(t *testing.T) { testSynthesis(t, stranger) })

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

// testSynthesis: a limiter without any property has the authorizer of the release
// in the app's output, for Lambdas of the default architecture.
func testSynthesis(t *testing.T, stranger string) {
	out := t.TempDir()
	t.Setenv("CDK_OUTDIR", out)
	run(t, stranger, "bin/plain")
	var found []string
	err := filepath.WalkDir(out, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".zip") {
			found = append(found, fmt.Sprintf("%x", sha256.Sum256(read(t, path))))
		}
		return err
	})
	if want := readSums(t)["authorizer_arm64.zip"]; err != nil || !strings.Contains(strings.Join(found, " "), want) {
		t.Errorf("the app's output has the zips %v, want %s: %v", found, want, err)
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

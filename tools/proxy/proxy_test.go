package proxy_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/slidegate/slidegate/tools/proxy"
)

const repo = "../.."

// program is a stranger's: it uses each of the published packages.
const program = `package main

import (
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/slidegategrpc"
	"github.com/slidegate/slidegate/slidegateotel"
)

func main() {
	observe, err := slidegateotel.NewObserver()
	lim, err2 := slidegate.New(slidegate.SlidingWindow(100, time.Minute), slidegate.WithObserver(observe))
	grpc.NewServer(grpc.UnaryInterceptor(slidegategrpc.UnaryServerInterceptor(lim)))
	fmt.Println(err, err2)
}
`

// TestImport builds a program outside the repository, which imports the modules
// as they would be published now.
func TestImport(t *testing.T) {
	next := required(t)
	p, err := proxy.New(t.Context(), repo, t.TempDir(), next)
	if err != nil {
		t.Fatal(err)
	}
	env, err := p.Env(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stranger := t.TempDir()
	mod, sums := "module example.com/stranger\n\ngo 1.26.0\n\n", ""
	for _, dir := range proxy.Published {
		mod += "require " + proxy.Path(dir) + " " + next + "\n"
		sum, err := os.ReadFile(filepath.Join(repo, dir, "go.sum"))
		if err != nil {
			t.Fatal(err)
		}
		sums += string(sum) // so that no server is asked for them
	}
	example, err := os.ReadFile(filepath.Join(repo, "examples", "grpc", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": mod, "go.sum": sums, "main.go": program, "example/main.go": string(example)} {
		path := filepath.Join(stranger, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{
		"go build -o program .",
		"./program",
		"go run ./example",
		// The CDK takes long to compile, and infra's tests do: find all packages.
		"go list -deps " + proxy.Root + "/infra/ratelimit " + proxy.Root + "/functions/authorizer " + proxy.Root + "/cmd/slidegate",
	} {
		args := strings.Fields(command)
		out, err := proxy.Run(t.Context(), stranger, env, args[0], args[1:]...)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s\n%.300s", command, out)
	}
}

// required returns the version that the published modules require of the root.
func required(t *testing.T) string {
	t.Helper()
	for _, r := range readMod(t, "slidegategrpc").Require {
		if r.Mod.Path == proxy.Root {
			return r.Mod.Version
		}
	}
	t.Fatal("slidegategrpc does not require the root")
	return ""
}

func readMod(t *testing.T, dir string) *modfile.File {
	t.Helper()
	path := filepath.Join(repo, dir, "go.mod")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse(path, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return mod
}

// TestDirectives: importers see no replace and no exclude directive, so a
// published module may only replace the root by the one beside it.
func TestDirectives(t *testing.T) {
	for _, dir := range proxy.Published {
		mod := readMod(t, dir)
		for _, r := range mod.Replace {
			if dir == "." || r.Old.Path != proxy.Root {
				t.Errorf("%s/go.mod replaces %s: importers would get the original", dir, r.Old.Path)
			}
		}
		if len(mod.Exclude) > 0 {
			t.Errorf("%s/go.mod excludes a version: importers would get it", dir)
		}
	}
}

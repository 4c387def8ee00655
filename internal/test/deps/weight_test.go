package deps_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What a program pays for package slidegate if it counts in memory.
const (
	// mostForeign bounds the packages of other modules. Today they are 9: xxhash,
	// and bart with its parts, which looks networks up.
	mostForeign = 9
	// mostOwn bounds the packages of this module. Today they are 13.
	mostOwn = 15
	// mostAdded bounds what the middleware adds to the binary of an HTTP server:
	// today 1.8 MB to 6.2 MB on Linux, net/http included.
	mostAdded = 5 << 19
	// mostAlone bounds the binary of a worker that serves nothing. Today it has
	// 4.0 MB, without net/http; a program that only prints has 1.7 MB.
	mostAlone = 9 << 19
)

// TestMemoryAlone checks that a program which counts in memory builds nothing of
// the other stores, of gates, of servers, or of the CDK.
func TestMemoryAlone(t *testing.T) {
	packages := list(t, "-deps", "./internal/test/deps/testdata/worker")
	own, foreign := 0, 0
	for _, p := range packages {
		for _, unwanted := range []string{
			"github.com/aws/", // the SDK, smithy, Lambda and the CDK
			"github.com/redis/", "github.com/prometheus/", "go.yaml.in/", "gopkg.in/yaml", "github.com/spf13/",
			"github.com/maypok86/", "github.com/vektah/",
			"net/http", module + "gate", module + "limithttp", module + "store/", module + "limitlambda", module + "infra",
			module + "functions", module + "cmd",
			module + "internal/store/dynamo", module + "internal/store/redis", module + "internal/rules/yamlfile",
			module + "internal/rules/rulefile",
			module + "internal/rules/ruletable", module + "internal/lambda", module + "internal/assemble/app",
		} {
			if strings.HasPrefix(p.ImportPath, unwanted) {
				t.Errorf("a limiter in memory builds %s", p.ImportPath)
			}
		}
		switch {
		case strings.HasPrefix(p.ImportPath+"/", module):
			own++
		case !p.Standard:
			foreign++
		}
	}
	own-- // the program itself
	if own > mostOwn || foreign > mostForeign {
		t.Errorf("it builds %d packages of this module and %d of others, want at most %d and %d", own, foreign, mostOwn,
			mostForeign)
	}
	if own < 2 {
		t.Errorf("%d packages of this module: the program does not limit", own)
	}
}

// TestMemoryBytes compares the binaries of a server with and without a limit,
// and measures one of a worker.
func TestMemoryBytes(t *testing.T) {
	server := size(t, "server")
	if added := size(t, "limited") - server; added > mostAdded || added <= 0 {
		t.Errorf("a limit adds %d bytes to a server of %d, want at most %d", added, server, mostAdded)
	}
	if alone := size(t, "worker"); alone > mostAlone {
		t.Errorf("a worker with a limit has %d bytes, want at most %d", alone, mostAlone)
	}
}

// size builds a program of testdata, and returns the bytes of its binary without
// debuggers' data, which depend on GOFLAGS.
func size(t *testing.T, program string) int64 {
	t.Helper()
	binary := filepath.Join(t.TempDir(), program)
	build := exec.Command("go", "build", "-ldflags=-w", "-o", binary, "./testdata/"+program)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	file, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	return file.Size()
}

// clocks lists the folders of both internal/ whose packages may read the
// machine's clock: the commands, waits, deadlines of connections, warnings about costs, a
// paced replay, and servers for tests. Every other package takes the time as an
// argument, so its tests and replays decide what time it is.
var clocks = []string{
	"cmd/slidegate/internal/aws", "cmd/slidegate/internal/cli", "cmd/slidegate/internal/operator", "cmd/slidegate/internal/serve/gateway",
	"cmd/slidegate/internal/traffic/replay", "internal/assemble/httplimit", "internal/assemble/inlambda", "internal/kit/clock",
	"internal/observe/oplog", "internal/test/dynamotest", "internal/test/servers",
}

// TestClocks reports each reference to a function that reads the clock.
func TestClocks(t *testing.T) {
	files := 0
	for _, building := range []string{"internal", "cmd/slidegate/internal"} {
		err := filepath.WalkDir(filepath.Join("../../..", building), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			name := strings.TrimPrefix(filepath.ToSlash(path), "../../../")
			if strings.Contains(name, "testdata") ||
				slices.ContainsFunc(clocks, func(c string) bool { return strings.HasPrefix(name, c+"/") }) {
				return nil
			}
			files++
			for _, place := range clockReads(t, path) {
				t.Errorf("%s: reads the clock; take the time as an argument", place)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 200 {
		t.Errorf("looked at %d files: the packages are elsewhere", files)
	}
}

// clockReads returns the positions at which a Go file refers to time.Now,
// time.Since or time.Until, also where package time has another name.
func clockReads(t *testing.T, path string) (places []string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	name := importName(file, "time")
	ast.Inspect(file, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			from, ok := selector.X.(*ast.Ident)
			if ok && name != "" && from.Name == name && slices.Contains([]string{"Now", "Since", "Until"}, selector.Sel.Name) {
				places = append(places, files.Position(node.Pos()).String())
			}
		}
		return true
	})
	return places
}

// importName returns the name by which a file refers to a package, or "" if
// the file does not import it.
func importName(file *ast.File, path string) string {
	for _, imported := range file.Imports {
		if imported.Path.Value != strconv.Quote(path) {
			continue
		}
		if imported.Name != nil {
			return imported.Name.Name
		}
		return path
	}
	return ""
}

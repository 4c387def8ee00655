package deps_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// clocks lists the folders of both internal/ whose packages may read the
// machine's clock: the commands, waits, the local gateway, warnings about costs, a
// paced replay, and servers for tests. Every other package takes the time as an
// argument, so its tests and replays decide what time it is.
var clocks = []string{
	"cmd/slidegate/internal/aws", "cmd/slidegate/internal/cli", "cmd/slidegate/internal/operator", "cmd/slidegate/internal/serve/gateway",
	"cmd/slidegate/internal/traffic/replay", "internal/kit/clock", "internal/observe/oplog",
	"internal/test/dynamotest", "internal/test/servers",
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
			if strings.Contains(name, "testdata") || slices.ContainsFunc(clocks, func(c string) bool { return strings.HasPrefix(name, c+"/") }) {
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

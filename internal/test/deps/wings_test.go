package deps_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// buildings are the two folders whose packages only this module can import.
var buildings = []string{"internal", "cmd/slidegate/internal"}

var wingRow = regexp.MustCompile("(?m)^\\| `((?:cmd/slidegate/)?internal/[a-z]+)` \\| [^|]{20,} \\|$")

// wings returns the wings of both buildings as docs/architecture.md lists them:
// each imports of its building only those below it.
func wings(t *testing.T) (names []string) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range wingRow.FindAllStringSubmatch(string(page), -1) {
		names = append(names, row[1])
	}
	return names
}

// wingOf returns the wing of a package, and its building; "" for packages
// elsewhere.
func wingOf(name string) (wing, building string) {
	for _, building := range buildings {
		if rest, ok := strings.CutPrefix(name, building+"/"); ok {
			first, _, _ := strings.Cut(rest, "/")
			return building + "/" + first, building
		}
	}
	return "", ""
}

// TestWings: each folder of a building is a wing that docs/architecture.md
// explains, and imports go in one direction.
func TestWings(t *testing.T) {
	wings := wings(t)
	for _, building := range buildings {
		entries, err := os.ReadDir(filepath.Join("../../..", building))
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, entry := range entries {
			if name := building + "/" + entry.Name(); !slices.Contains(wings, name) {
				t.Errorf("%s is no wing: docs/architecture.md has no row `%s` with its purpose", name, name)
			}
			found++
		}
		if most := map[string]int{"internal": 10, "cmd/slidegate/internal": 8}[building]; found == 0 || found > most {
			t.Errorf("%s has %d names, want at most %d", building, found, most)
		}
	}
	for _, name := range wings {
		if _, err := os.Stat(filepath.Join("../../..", name)); err != nil {
			t.Errorf("docs/architecture.md has a row for %s: %v", name, err)
		}
	}
	for _, p := range list(t, "./...") {
		from, building := wingOf(short(p.ImportPath))
		for _, imported := range p.Imports {
			to, other := wingOf(short(imported))
			if from != "" && other == building && slices.Index(wings, to) < slices.Index(wings, from) {
				t.Errorf("%s imports %s: %s is above %s in docs/architecture.md", short(p.ImportPath), short(imported), to, from)
			}
		}
	}
}

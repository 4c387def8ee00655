package imports_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports"
	"github.com/slidegate/slidegate/internal/rules/yamlfile"
)

// Of a file without an end, such as /dev/zero, ReadFiles reads enough to refuse
// it.
func TestReadFilesIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long.yaml")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, yamlfile.MaxDocument+2); err != nil {
		t.Fatal(err)
	}
	files, err := imports.ReadFiles(path)
	if err != nil || len(files) != 1 || len(files[0].Content) != yamlfile.MaxDocument+1 {
		t.Errorf("%d files, %v", len(files), err)
	}
}

package trafficcmd

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
)

// Both passes read the same of a log to which a server goes on writing.
func TestLogThatGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.log")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	write := func(text string) {
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	write("one\ntwo\n")
	log, err := logs.File(path, logs.CLF)
	if err != nil {
		t.Fatal(err)
	}
	open := asItIs(&log)
	for range 2 {
		write("more\n")
		file, err := open()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(file); string(got) != "one\ntwo\n" || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

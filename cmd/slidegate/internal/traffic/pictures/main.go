// Command pictures draws the pictures of the README and of docs: what each
// algorithm allows of a burst that crosses the edge of a window, by the real
// algorithms, and the first minute in a terminal, by the real commands.
//
//	go run ./cmd/slidegate/internal/traffic/pictures docs/pictures    (in the repository's root)
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: pictures FOLDER")
		os.Exit(2)
	}
	if err := run(".", os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

// run draws into folder what the repository at root does.
func run(root, folder string) error {
	files := figures()
	was, err := os.ReadFile(filepath.Join(folder, transcript))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	now, err := record(root)
	if err != nil {
		return err
	}
	if sameButTimes(now, string(was)) {
		now = string(was)
	}
	files[transcript] = now
	if files["first-minute.svg"], err = terminal(now); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

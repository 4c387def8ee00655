// Command pictures draws the pictures of the README and of docs: what each
// algorithm allows of a burst that crosses the edge of a window, by the real
// algorithms. docs/pictures/first-minute.sh records a terminal.
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
	for name, text := range figures() {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), []byte(text), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "pictures:", err)
			os.Exit(1)
		}
	}
}

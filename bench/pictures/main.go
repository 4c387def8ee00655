// Command pictures draws, as one SVG for each algorithm, which requests it
// admits when a burst crosses the edge of a window. It runs the real
// algorithms.
//
//	go run ./pictures ../docs/pictures
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: pictures FOLDER")
	}
	for _, l := range limits() {
		file := filepath.Join(args[0], l.Algorithm.String()+".svg")
		picture, err := svg(&l, burst(&l))
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, picture, 0o644); err != nil {
			return err
		}
	}
	return nil
}

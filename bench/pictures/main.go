// Command pictures draws which requests each algorithm admits when a burst
// crosses the edge of a window: an SVG for each algorithm, and one with all of
// them, each in a light and a dark form. It runs the real algorithms.
//
//	go run ./pictures ../docs/pictures
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
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
	for _, t := range themes {
		var all [][]*plot.Plot
		for i, l := range limits() {
			p, err := picture(&t, &l)
			if err != nil {
				return err
			}
			if err := write(args[0], l.Algorithm.String()+t.suffix, [][]*plot.Plot{{p}}); err != nil {
				return err
			}
			if i%2 == 0 {
				all = append(all, nil)
			}
			all[len(all)-1] = append(all[len(all)-1], p)
		}
		if err := write(args[0], "all"+t.suffix, all); err != nil {
			return err
		}
	}
	return nil
}

func write(folder, name string, rows [][]*plot.Plot) error {
	picture, err := svg(rows)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name+".svg"), picture, 0o644)
}

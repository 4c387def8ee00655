// Command report reads the output of `go test -bench` and prints a Markdown
// table. It shows each case next to the bare one of its group in the same run.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// result is one line of output, such as "BenchmarkMemory/hot/slidegate-2  123
// 45.6 ns/op  0 B/op  0 allocs/op".
type result struct {
	group   string // "Memory/hot"
	name    string // "slidegate"
	threads string
	units   map[string]float64 // by unit: "ns/op"
}

var line = regexp.MustCompile(`^Benchmark(\S+)/([a-z-]+?)(?:-(\d+))?\s+\d+\s+(.*)$`)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	results, err := read(in)
	if err != nil {
		return err
	}
	if len(results) == 0 {
		return fmt.Errorf("no benchmark results on standard input")
	}
	fmt.Fprintln(out, "| case | threads | ns per decision | allocations | × bare | calls |\n|---|---|---|---|---|---|")
	for _, r := range results {
		fmt.Fprintf(out, "| %s, %s | %s | %.*f | %.0f | %s | %s |\n", strings.ToLower(r.group), r.name, r.threads,
			decimals(r.units["ns/op"]), r.units["ns/op"], r.units["allocs/op"], ratio(r, results), calls(r))
	}
	return nil
}

// decimals rounds to the digits that a measurement supports.
func decimals(ns float64) int {
	if ns < 1000 {
		return 1
	}
	return 0
}

func read(in io.Reader) (results []result, err error) {
	scanner := bufio.NewScanner(in)
	for scanner.Scan() {
		m := line.FindStringSubmatch(scanner.Text())
		if m == nil {
			continue
		}
		r := result{group: m[1], name: m[2], threads: m[3], units: map[string]float64{}}
		if r.threads == "" {
			r.threads = "1"
		}
		for fields := strings.Fields(m[4]); len(fields) >= 2; fields = fields[2:] {
			if r.units[fields[1]], err = strconv.ParseFloat(fields[0], 64); err != nil {
				return nil, err
			}
		}
		results = append(results, r)
	}
	return results, scanner.Err()
}

// ratio compares a result with the bare one of the same group and number of
// threads.
func ratio(r result, all []result) string {
	for _, bare := range all {
		if bare.name == "bare" && bare.group == r.group && bare.threads == r.threads {
			return fmt.Sprintf("%.2f", r.units["ns/op"]/bare.units["ns/op"])
		}
	}
	return ""
}

func calls(r result) string {
	if _, ok := r.units["writes/op"]; !ok {
		return ""
	}
	return fmt.Sprintf("%.3f writes, %.3f reads", r.units["writes/op"], r.units["reads/op"])
}

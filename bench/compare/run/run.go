// Package run measures the cases one after another, and collects the results.
package run

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/bench/compare/cases"
	"github.com/slidegate/slidegate/bench/compare/measure"
	"github.com/slidegate/slidegate/bench/compare/report"
	"github.com/slidegate/slidegate/bench/compare/subject"
)

// Runner measures on servers.
type Runner struct {
	Servers cases.Servers
	// All measures everything, and not only what has a target.
	All bool
	// Only selects cases by their ID.
	Only *regexp.Regexp
	// Rounds bounds the rounds of each case; 0 stands for no bound.
	Rounds int
	Log    io.Writer // of the progress
}

// Measure adds what it measures to the data. A case that fails is left out and
// named; only the end of the context is an error.
func (r *Runner) Measure(ctx context.Context, d *report.Data) error {
	d.Machine, d.Rounds = machine(), r.Rounds
	for _, about := range subject.Subjects {
		d.Versions = append(d.Versions, report.Version{About: about, Version: subject.Version(about.Module)})
	}
	list := cases.Short(&r.Servers)
	if r.All {
		list = append(cases.All(&r.Servers), cases.Growth(&r.Servers, mostKeys())...)
	}
	list = slices.DeleteFunc(list, func(c measure.Case) bool { return !r.Only.MatchString(c.ID) })
	for i := range list {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if r.Rounds > 0 {
			list[i].Rounds = min(list[i].Rounds, r.Rounds)
		}
		begun := time.Now()
		results, err := measure.Compare(ctx, &list[i])
		if err != nil {
			d.Failures = append(d.Failures, fmt.Sprintf("%s: %v", list[i].Title, err))
		}
		d.Results = append(d.Results, results...)
		r.progress(i+1, len(list), list[i].ID, time.Since(begun), err)
	}
	r.bytes(ctx, d)
	if r.All {
		r.exact(ctx, d)
	}
	return ctx.Err()
}

func (r *Runner) progress(n, of int, what string, took time.Duration, err error) {
	fmt.Fprintf(r.Log, "%3d of %d  %-34s %5.1f s", n, of, what, took.Seconds())
	if err != nil {
		fmt.Fprintf(r.Log, "  %v", err)
	}
	fmt.Fprintln(r.Log)
}

// byteKeys is how many keys the memory of a key is measured with.
const byteKeys = 200_000

func (r *Runner) bytes(ctx context.Context, d *report.Data) {
	const id = "memory/bytes"
	if !r.Only.MatchString(id) {
		return
	}
	begun, all := time.Now(), subject.Memory()
	for i := range all {
		bytes, err := measure.Bytes(ctx, &all[i], byteKeys)
		if err != nil {
			d.Failures = append(d.Failures, fmt.Sprintf("memory of a key, %s: %v", all[i].Name, err))
			continue
		}
		d.Bytes = append(d.Bytes, report.Bytes{Subject: all[i].Name, Keys: byteKeys, Bytes: bytes})
	}
	r.progress(1, 1, id, time.Since(begun), nil)
}

func (r *Runner) exact(ctx context.Context, d *report.Data) {
	groups := cases.Exact(&r.Servers)
	for i, g := range groups {
		id := "exact/" + g.Store
		if !r.Only.MatchString(id) {
			continue
		}
		begun := time.Now()
		d.Exact = append(d.Exact, g.Measure(ctx, func(err error) { d.Failures = append(d.Failures, err.Error()) })...)
		r.progress(i+1, len(groups), id, time.Since(begun), nil)
	}
}

// keyBytes is what a key of the growth charts takes at most, in all subjects
// and the list of keys.
const keyBytes = 700

// mostKeys returns how many keys fit in half of the free memory, at most ten
// million.
func mostKeys() int {
	n := 10_000_000
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return n / 10
	}
	_, rest, _ := strings.Cut(string(text), "MemAvailable:")
	kb, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
	for n > 1000 && n*keyBytes > kb*1024/2 {
		n /= 10
	}
	return n
}

func machine() report.Machine {
	load, _ := os.ReadFile("/proc/loadavg")
	average, _, _ := strings.Cut(string(load), " ")
	return report.Machine{
		Load: average, Date: time.Now().UTC().Format(time.DateOnly), CPU: subject.CPU(), Cores: runtime.NumCPU(),
		System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
	}
}

package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// results has what was measured, by job and subject.
type results map[string]map[string]result

// order is that of the rows of all tables.
var order = []string{
	bare, ours, "go-limiter", "throttled", "ulule/limiter", "httprate", xRate, "redis_rate", "two counters", "fixed window", swapped,
	"one rule", hundredRules, "one of 1,000 rules", handler, authorizer, thousandRules, manyRules,
}

// target is a figure that Slidegate should reach: at most so much, or at least.
type target struct {
	work   string
	value  float64
	sign   string // "≤" or "≥"
	want   float64
	format string
}

// targets returns what the run should have reached. A value that was not
// measured is NaN.
func (all results) targets() []target {
	memory, keys := all.get("memory/one", ours), all.get("memory/keys", ours)
	dynamo, dynamoMany := all.get("dynamodb/one", ours), all.get("dynamodb/clients", ours)
	dynamoBucket, dynamoFlood := all.get("dynamodb/bucket", ours), all.get("dynamodb/flood", ours)
	redis, redisMany := all.get("redis/one", ours), all.get("redis/clients", ours)
	rules := all.get("requests", hundredRules)
	const ratio, writes, calls = "%.2f × bare", "%.3f writes", "%.3f calls"
	return []target{
		{"memory, one key", memory.cpuRatio, "≤", 1.5, ratio},
		{"", memory.cpuRatio / all.get("memory/one", xRate).cpuRatio, "≤", 1.1, "%.2f × x/time/rate"},
		{"memory, 100,000 keys", keys.cpuRatio, "≤", 1.5, ratio},
		{"", keys.cpuRatio / all.get("memory/keys", xRate).cpuRatio, "≤", 1.1, "%.2f × x/time/rate"},
		{"fullest window in memory", all.get("memory/fullest", ours).size, "≤", 1, "%.2f × the limit"},
		{"fullest window on DynamoDB", all.get("dynamodb/fullest", ours).size, "≤", 1, "%.2f × the limit"},
		{"fullest window on Redis", all.get("redis/fullest", ours).size, "≤", 1, "%.2f × the limit"},
		{"DynamoDB, 1 client", dynamo.wallRatio, "≤", 1.25, ratio},
		{"", dynamo.writes, "≤", 1.01, writes},
		{"DynamoDB, 16 clients of one process", dynamoMany.wallRatio, "≤", 1, ratio},
		{"", dynamoMany.writes, "≤", 0.5, writes},
		{"DynamoDB, token bucket, 16 clients of one process", dynamoBucket.wallRatio, "≤", 1, ratio},
		{"", dynamoBucket.writes, "≤", 0.5, writes},
		{"DynamoDB, 60 × the limit", dynamoFlood.calls, "≤", 0.025, calls},
		{"Redis, 1 client", redis.wallRatio, "≤", 1.15, ratio},
		{"Redis, 16 clients of one process", redisMany.wallRatio, "≤", 1.2, ratio},
		{"Redis, 60 × the limit", all.get("redis/flood", ours).calls, "≤", 0.025, calls},
		{"a decision among 100 rules", rules.cpu / 1e3, "≤", 2, "%.2f µs"},
		{"", rules.allocs, "≤", 10, "%.0f allocations"},
		{"the authorizer's handler without the store", all.get("requests", handler).cpu / 1e3, "≤", 5, "%.2f µs"},
		{"`replay` of a log in combined format", replayLines / all.get("replay", ours).wall * 1e9, "≥", 200_000, "%.0f lines/s"},
		{"Lambda, cold start to the first answer", all.get("lambda/cold", authorizer).wallRatio, "≤", 1.25, ratio},
		{"Lambda, CPU of a warm event", all.get("lambda/warm", authorizer).cpuRatio, "≤", 1, ratio},
	}
}

// verdict compares the value as it is written, so that 1.004 is not above 1.00.
func (t *target) verdict() (shown, verdict string) {
	shown = fmt.Sprintf(t.format, t.value)
	switch {
	case math.IsNaN(t.value):
		return "–", "not measured"
	case shown == fmt.Sprintf(t.format, t.want) || (t.value < t.want) == (t.sign == "≤"):
		return shown, "met"
	}
	return shown, "**missed**"
}

// column is a figure of the subjects of a test.
type column struct {
	head, test string
	text       func(r result, name string) string
}

// table has a row for each subject.
type table struct {
	title   string
	columns []column
}

var layout = []table{
	{"In memory", []column{
		{"one key", "memory/one", cost}, {"all denied", "memory/denied", cost}, {"100,000 keys", "memory/keys", cost},
		{"16 clients", "memory/clients", speed}, {"allocations", "memory/one", allocations},
		{"bytes a key", "memory/size", func(r result, _ string) string { return fmt.Sprintf("%.0f", r.size) }}, {"fullest window", "memory/fullest", fullness},
	}},
	onStore("On DynamoDB", "dynamodb"),
	onStore("On Redis", "redis"),
	{"Requests in memory", []column{{"time", "requests", cpuTime}, {"× bare", "requests", cost}, {"allocations", "requests", allocations}}},
	{"The Lambda", []column{
		{"cold start", "lambda/cold", speed}, {"its CPU", "lambda/cold", cpuTime},
		{"that at 256 MB", "lambda/cold", func(r result, _ string) string { return duration(r.cpu * wholeCPU / 256) }},
		{"CPU of a warm event", "lambda/warm", cost}, {"memory", "lambda/cold", megabytes}, {"after 1,000 events", "lambda/warm", megabytes},
	}},
}

func onStore(title, id string) table {
	return table{title, []column{
		{"1 client", id + "/one", calls}, {"16 clients", id + "/clients", calls}, {"p99", id + "/clients", tail},
		{"bucket, 16 clients", id + "/bucket", calls}, {"60 × the limit", id + "/flood", calls},
		{"16 processes", id + "/processes", calls}, {"bucket, 16 processes", id + "/bucket-processes", calls}, {"fullest window", id + "/fullest", fullness},
	}}
}

// The figures. The row of the bare operation has its time, and the others how
// many times that they take.
func cost(r result, name string) string     { return ratio(r.cpuRatio, r.cpu, r.failed, name) }
func speed(r result, name string) string    { return ratio(r.wallRatio, r.wall, r.failed, name) }
func tail(r result, _ string) string        { return fmt.Sprintf("%.2f ×", r.p99Ratio) }
func allocations(r result, _ string) string { return fmt.Sprintf("%.0f", r.allocs) }
func cpuTime(r result, _ string) string     { return duration(r.cpu) }
func fullness(r result, _ string) string    { return fmt.Sprintf("%.2f ×", r.size) }
func megabytes(r result, _ string) string   { return fmt.Sprintf("%.1f MB", r.size/1e6) }

// calls adds how many round trips a decision takes.
func calls(r result, name string) string { return fmt.Sprintf("%s, %.3g", speed(r, name), r.calls) }

func ratio(times, ns, failed float64, name string) string {
	switch {
	case name == bare:
		return duration(ns)
	case failed > 0.005:
		return fmt.Sprintf("%.2f ×, %.0f%% fail", times, 100*failed)
	}
	return fmt.Sprintf("%.2f ×", times)
}

func duration(ns float64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.0f ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.3g µs", ns/1e3)
	}
	return fmt.Sprintf("%.1f ms", ns/1e6)
}

// get returns a result; one that was not measured has NaN for its figures.
func (all results) get(test, subject string) result {
	if r, ok := all[test][subject]; ok {
		return r
	}
	n := math.NaN()
	return result{n, n, n, n, n, n, n, n, n, n}
}

// report writes all as Markdown.
func (all results) report(started string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Measured %s.\n\n| Target | measured | wanted | |\n|---|---|---|---|\n", started)
	for _, t := range all.targets() {
		shown, verdict := t.verdict()
		fmt.Fprintf(&out, "| %s | %s | %s "+t.format+" | %s |\n", t.work, shown, t.sign, t.want, verdict)
	}
	for _, t := range layout {
		all.table(&out, t)
	}
	return out.String()
}

func (all results) table(out *strings.Builder, t table) {
	fmt.Fprintf(out, "\n**%s**\n\n| ", t.title)
	for _, c := range t.columns {
		fmt.Fprintf(out, "| %s ", c.head)
	}
	fmt.Fprintf(out, "|\n%s|\n", strings.Repeat("|---", len(t.columns)+1))
	for _, name := range order {
		row, any := "| "+name, false
		for _, c := range t.columns {
			cell := "–"
			if r, ok := all[c.test][name]; ok {
				cell, any = c.text(r, name), true
			}
			row += " | " + cell
		}
		if any {
			fmt.Fprintln(out, row+" |")
		}
	}
}

// The tables of a page are between these lines.
const (
	begin = "<!-- make bench -->\n"
	end   = "<!-- end -->\n"
)

// write replaces the tables of a page.
func write(page, report string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := bytes.Cut(text, []byte(begin))
	_, after, closed := bytes.Cut(rest, []byte(end))
	if !found || !closed {
		return fmt.Errorf("%s has no tables between %q and %q", page, begin, end)
	}
	return os.WriteFile(page, slices.Concat(before, []byte(begin), []byte(report), []byte(end), after), 0o644)
}

// machine says when and where a run is.
func machine() string {
	load, _ := os.ReadFile("/proc/loadavg")
	average, _, _ := strings.Cut(string(load), " ")
	return fmt.Sprintf("on %s with %d cores, %s, %s/%s; load average %s before",
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, average)
}

package report

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/bench/compare/cases"
	"github.com/slidegate/slidegate/bench/compare/exact"
	"github.com/slidegate/slidegate/bench/compare/measure"
	"github.com/slidegate/slidegate/bench/compare/subject"
)

var update = flag.Bool("update", false, "write the golden file")

// madeUp has figures that no machine measured.
func madeUp() *Data {
	r := func(id, group, title, name string, x, ratio float64) measure.Result {
		return measure.Result{
			Case: id, Group: group, Title: title, Subject: name, X: x, Time: 100 * ratio, Ratio: ratio, Low: 0.9 * ratio, High: 1.1 * ratio,
			P50: 90, P99: 12_345, P99Rat: 1.1, Allocs: 2, CPU: 70, CPURat: 1.2, Server: 2_500_000, Scripts: 7_400,
			Remote: true, Calls: 1, Reads: 0.5, Writes: 1.004, Allowed: 1. / 60, Failed: 0.02,
		}
	}
	return &Data{
		Machine: Machine{Date: "2026-12-31", CPU: "a processor", Cores: 2, System: "linux/amd64", Go: "go1.26.0", Load: "0.25"},
		Results: []measure.Result{
			r(cases.MemoryHot, cases.Memory, "one key", subject.Bare, 0, 1),
			r(cases.MemoryHot, cases.Memory, "one key", subject.Slidegate, 0, 1.304),
			r(cases.MemoryHot, cases.Memory, "one key", "go-limiter", 0, 1.2),
			r(cases.MemoryThreads, cases.Memory, "threads", subject.Slidegate+cases.OneThread, 0, 1),
			r(cases.MemoryThreads, cases.Memory, "threads", subject.Slidegate+cases.TwoThreads, 0, 0.5),
			r(cases.MemoryThreads+"/maps", cases.Memory, "threads of maps", subject.Sharded+cases.OneThread, 0, 1),
			r(cases.MemoryThreads+"/maps", cases.Memory, "threads of maps", subject.Sharded+cases.TwoThreads, 0, 0.6),
			r(cases.DynamoOne, cases.DynamoDB, "half", subject.Bare, 0, 1),
			r(cases.DynamoOne, cases.DynamoDB, "half", subject.Slidegate, 0, 1.6),
			r(cases.RedisMany, cases.Redis, "half", subject.Bare, 0, 1),
			r(cases.RedisMany, cases.Redis, "half", subject.Slidegate, 0, 1.1),
			r(cases.Rules1, cases.Requests, "a rule", subject.Slidegate, 0, 5),
			r("growth/slots in memory/1", "slots in memory", "slots in memory: 1", subject.Bare, 1, 1),
			r("growth/slots in memory/1", "slots in memory", "slots in memory: 1", subject.Slidegate, 1, 2),
			r("growth/slots in memory/600", "slots in memory", "slots in memory: 600", subject.Bare, 600, 1),
			r("growth/slots in memory/600", "slots in memory", "slots in memory: 600", subject.Slidegate, 600, 2.9),
			r("growth/rules/1", "rules", "rules: 1", subject.Bare, 1, 1),
			r("growth/rules/1", "rules", "rules: 1", subject.Slidegate, 1, 2),
			r("growth/rules/1000", "rules", "rules: 1000", subject.Bare, 1000, 1),
			r("growth/rules/1000", "rules", "rules: 1000", subject.Slidegate, 1000, 20),
		},
		Exact:    []exact.Result{{Store: "memory", Subject: "Slidegate sliding_window", Fullest: []float64{1, 1, 1, 0.99, 1}}},
		Bytes:    []Bytes{{subject.Bare, 1000, 40}, {subject.Slidegate, 1000, 119.6}, {"go-limiter", 1000, 83}},
		Versions: []Version{{subject.Subjects[0], ""}, {subject.Subjects[1], "v1.0.0"}},
		Failures: []string{"one key at a steady 200 a second: no answer"},
		Lambda:   []LambdaRow{{"binary", "MB", 10, 13, 1.3, 0}, {"cold start", "ms", 7, 10, 1.41, 1.15}},
		Starts:   "| document | JSON |\n|---|---|\n| plain:1000 | 199 KB |\n",
	}
}

// TestPage compares the page of made-up figures with testdata.
func TestPage(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "pictures"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, madeUp()); err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "page.md", read(t, filepath.Join(dir, "performance.md")))
	var back Data
	if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, "performance.json"))), &back); err != nil || len(back.Results) != len(madeUp().Results) {
		t.Errorf("performance.json: %v, %d results", err, len(back.Results))
	}
	for _, name := range []string{"growth.svg", "growth-dark.svg"} {
		if picture := read(t, filepath.Join(dir, "pictures", name)); !strings.Contains(picture, "slots in memory") {
			t.Errorf("%s has no title of a chart", name)
		}
	}
}

// TestShort compares the short table of made-up figures with testdata.
func TestShort(t *testing.T) {
	var out strings.Builder
	if err := Short(&out, madeUp()); err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "short.md", out.String())
}

func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := read(t, path); got != want {
		t.Errorf("%s differs; go test ./compare/report -update writes it:\n%s", path, got)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEveryMissHasAReason: the page needs one for every target and chart.
func TestEveryMissHasAReason(t *testing.T) {
	for _, target := range targets {
		if target.reason == "" {
			t.Errorf("a miss of %q in %s would have no reason", target.work, target.id)
		}
	}
	for _, chart := range cases.Charts {
		if explanations[chart] == "" {
			t.Errorf("%s has no explanation", chart)
		}
	}
}

// TestCurrent: docs/performance.md is what this package writes from
// docs/performance.json. An edit by hand fails.
func TestCurrent(t *testing.T) {
	docs := filepath.Join("..", "..", "..", "docs")
	d, err := Load(filepath.Join(docs, "performance.json"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "pictures"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, d); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"performance.md", "pictures/growth.svg", "pictures/growth-dark.svg"} {
		if read(t, filepath.Join(dir, name)) != read(t, filepath.Join(docs, name)) {
			t.Errorf("docs/%s does not follow from docs/performance.json: see -from in bench/compare/main.go", name)
		}
	}
}

func TestText(t *testing.T) {
	for v, want := range map[float64]string{0.444: "0.44", 1.304: "1.30", 2.04: "2.0", 12.3: "12", 99.6: "100", 1234.5: "1,235", 2_000_000: "2,000,000"} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %s, want %s", v, got, want)
		}
	}
	for ns, want := range map[float64]string{67.4: "67 ns", 1500: "1.50 µs", 2.25e6: "2.2 ms"} {
		if got := duration(ns); got != want {
			t.Errorf("duration(%v) = %s, want %s", ns, got, want)
		}
	}
}

// A chart that rises or falls between its ends says how far, and where.
func TestGrowthBetweenTheEnds(t *testing.T) {
	for _, x := range []struct {
		chart, want string
		between     float64
	}{
		{"clients on Redis", "up to 1.64 × at 5. " + explanations["clients on Redis"], 1.64},
		{"clients in memory", "falls to 0.60 × at 5", 0.6},
		{"slots in Redis", "flat", 1.4},
	} {
		d := &Data{}
		for _, p := range []struct{ x, ratio float64 }{{1, 1}, {5, x.between}, {200, 1}} {
			d.Results = append(d.Results, measure.Result{
				Case: fmt.Sprintf("growth/%s/%v", x.chart, p.x), Group: x.chart, Subject: subject.Slidegate, X: p.x, Ratio: p.ratio,
			})
		}
		if g := d.Growth(); len(g) != 1 || g[0].Verdict != x.want {
			t.Errorf("%s: %+v, want %q", x.chart, g, x.want)
		}
	}
}

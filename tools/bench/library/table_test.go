package library

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	limithttp "github.com/didip/tollbooth/v8"
	chi "github.com/go-chi/httprate"
	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"

	gate "github.com/slidegate/slidegate"
)

const (
	page  = "../../../docs/migrating.md"
	begin = "<!-- make bench -->\n"
	end   = "<!-- end -->\n"
	// Each case runs this often, and repeats its operation as often in each run.
	rounds  = 9
	repeats = 100_000
)

var measure = flag.Bool("measure", false, "measure, and write the table of docs/migrating.md")

// TestTable compares the table of docs/migrating.md with the code, but for the
// times in it. With -measure it measures these, and writes the table.
func TestTable(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	old, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no table between %q and %q", page, begin, end)
	}
	times := lastLines(old, len(measured))
	if *measure {
		times = measureAll(t)
	}
	table := counted(t) + times
	if *measure {
		if err := os.WriteFile(page, []byte(before+begin+table+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if table != old {
		t.Errorf("the table of docs/migrating.md is out of date: run `make bench`\nthe page has:\n%s\nthe code gives:\n%s", old, table)
	}
}

// counted returns the rows that are the same in every run.
func counted(t *testing.T) string {
	head := row("", func(l *library) string { return l.name }) + "|---" + strings.Repeat("|---", len(libraries)) + "|\n"
	builds := map[string]build{}
	for _, l := range libraries {
		builds[l.dir] = built(t, &l)
	}
	return head +
		row("version", func(l *library) string { return builds[l.dir].version }) +
		row("lines of code", func(l *library) string { return fmt.Sprint(lines(t, l.dir)) }) +
		row("packages built outside std", func(l *library) string { return fmt.Sprint(builds[l.dir].packages) }) +
		row("modules of these", func(l *library) string { return fmt.Sprint(len(builds[l.dir].modules)) }) +
		row("fullest minute ÷ limit", func(l *library) string { return fmt.Sprintf("%.2f", float64(l.fullest)/capacity) })
}

func row(title string, cell func(*library) string) string {
	cells := []string{title}
	for i := range libraries {
		cells = append(cells, cell(&libraries[i]))
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// lines counts the lines of a program but for blank ones and comments.
func lines(t *testing.T, dir string) (n int) {
	text, err := os.ReadFile(filepath.Join(dir, "limit.go"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}

// build is what Go compiles for a program besides the program and std.
type build struct {
	packages int
	modules  map[string]bool
	version  string // of the library
}

func built(t *testing.T, l *library) build {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{$.ImportPath}} {{.Path}} {{if not .Replace}}{{.Version}}{{end}}{{end}}", "./"+l.dir).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	b := build{modules: map[string]bool{}}
	for scanner := bufio.NewScanner(bytes.NewReader(out)); scanner.Scan(); {
		fields := strings.Fields(scanner.Text())
		if strings.HasSuffix(fields[1], "/bench") {
			continue
		}
		b.packages++
		b.modules[fields[1]] = true
		if fields[1] == l.module && len(fields) > 2 {
			b.version = fields[2]
		}
	}
	return b
}

// lastLines returns the last n lines of a text.
func lastLines(text string, n int) string {
	all := slices.Collect(strings.Lines(text))
	return strings.Join(all[max(0, len(all)-n):], "")
}

// measured are the rows with times.
var measured = []struct {
	title string
	cell  func(decision, request, bare sample) string
}{
	{"decision ÷ bare", func(d, _, bare sample) string { return fmt.Sprintf("%.1f", d.ns/bare.ns) }},
	{"decision", func(d, _, _ sample) string { return d.String() }},
	{"request", func(_, r, _ sample) string { return r.String() }},
}

// sample is the median of several runs.
type sample struct {
	ns     float64 // of CPU time
	allocs uint64
}

func (s sample) String() string { return fmt.Sprintf("%.0f ns, %d allocs", s.ns, s.allocs) }

// measureAll measures every case once in each round, so that a busy moment of
// the machine disturbs all of them alike.
func measureAll(t *testing.T) (rows string) {
	cases := map[string]func(){"bare": decision(bare)}
	for _, l := range libraries {
		cases["decision "+l.dir] = decision(l.decider)
		cases["request "+l.dir] = request(t, l.limit)
	}
	runs := map[string][]sample{}
	for range rounds {
		for name, op := range cases {
			runs[name] = append(runs[name], run(op))
		}
	}
	for _, m := range measured {
		rows += row(m.title, func(l *library) string {
			return m.cell(median(runs["decision "+l.dir]), median(runs["request "+l.dir]), median(runs["bare"]))
		})
	}
	return rows
}

// run repeats an operation. It takes CPU time, because other work of the machine
// does not count in it, and garbage collection does.
func run(op func()) sample {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := cpuTime()
	for range repeats {
		op()
	}
	took := cpuTime() - start
	runtime.ReadMemStats(&after)
	return sample{float64(took) / repeats, (after.Mallocs - before.Mallocs) / repeats}
}

// cpuTime returns the CPU time of this process in nanoseconds.
func cpuTime() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func median(runs []sample) sample {
	slices.SortFunc(runs, func(a, b sample) int { return cmp.Compare(a.ns, b.ns) })
	return runs[len(runs)/2]
}

// decision decides requests of one key that always has room.
func decision(decider func(int) func(context.Context, string) bool) func() {
	ctx, decide := context.Background(), decider(1_000_000_000)
	return func() {
		if !decide(ctx, "user:7") {
			panic("denied")
		}
	}
}

// request sends 100 requests of each client through a handler, which allows all
// of them.
func request(t *testing.T, limit func(http.Handler) (http.Handler, error)) func() {
	h, err := limit(noContent)
	if err != nil {
		t.Fatal(err)
	}
	w, r, n := &discard{header: http.Header{}}, httptest.NewRequest(http.MethodGet, "/", nil), 0
	return func() {
		if n%capacity == 0 {
			client := n / capacity
			r.RemoteAddr = fmt.Sprintf("10.%d.%d.%d:1234", client>>16&255, client>>8&255, client&255)
		}
		n++
		clear(w.header)
		if h.ServeHTTP(w, r); w.status != http.StatusNoContent {
			panic(fmt.Sprintf("status %d", w.status))
		}
	}
}

// discard is a response without a reader.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

// bare reads the clock, and counts in a map behind a mutex: the least that a
// limiter does.
func bare(int) func(context.Context, string) bool {
	var mu sync.Mutex
	counts, start := map[string]int{}, time.Now()
	return func(_ context.Context, key string) bool {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		counts[key]++
		return !now.Before(start)
	}
}

func decideSlidegate(n int) func(context.Context, string) bool {
	lim, err := gate.New(gate.SlidingWindow(int64(n), window))
	if err != nil {
		panic(err)
	}
	return func(ctx context.Context, key string) bool {
		r, err := lim.Allow(ctx, key)
		return err == nil && r.Allowed
	}
}

func decideHTTPRate(n int) func(context.Context, string) bool {
	lim := chi.NewRateLimiter(n, window, chi.WithResponseHeaders(chi.ResponseHeaders{}))
	w, r := &discard{}, httptest.NewRequest(http.MethodGet, "/", nil)
	return func(_ context.Context, key string) bool { return !lim.OnLimit(w, r, key) }
}

func decideUlule(n int) func(context.Context, string) bool {
	lim := limiter.New(memory.NewStore(), limiter.Rate{Period: window, Limit: int64(n)})
	return func(ctx context.Context, key string) bool {
		c, err := lim.Get(ctx, key)
		return err == nil && !c.Reached
	}
}

func decideTollbooth(n int) func(context.Context, string) bool {
	lim := limithttp.NewLimiter(float64(n)/60, nil).SetBurst(n)
	return func(_ context.Context, key string) bool { return !lim.LimitReached(key) }
}

// decideRate keeps a bucket for each key, as x/time/rate leaves to its users.
func decideRate(n int) func(context.Context, string) bool {
	var limiters sync.Map
	return func(_ context.Context, key string) bool {
		lim, ok := limiters.Load(key)
		if !ok {
			lim, _ = limiters.LoadOrStore(key, rate.NewLimiter(rate.Limit(n)/60, n))
		}
		return lim.(*rate.Limiter).Allow()
	}
}

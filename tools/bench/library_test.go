package bench

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/didip/tollbooth/v8"
	"github.com/didip/tollbooth/v8/limiter"
	"github.com/sethvargo/go-limiter/httplimit"
	"github.com/sethvargo/go-limiter/memorystore"
	ulule "github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	"github.com/ulule/limiter/v3/drivers/store/memory"

	"github.com/slidegate/slidegate/internal/test/golden"
)

const (
	capacity = 100
	window   = time.Minute
)

// library is a column of the table.
type library struct {
	name   string
	file   string // whose code is counted
	module string
	limit  func(http.Handler) (http.Handler, error)
	// ticks says that the library has a goroutine with a timer, which cannot end
	// before a bubble of synctest does.
	ticks bool
	// headers that an allowed answer has, and more that a denied one has.
	headers, denied []string
	// fullest is the number of requests that it admits in the fullest minute.
	fullest int
}

var libraries = []library{
	{
		name: "Slidegate", file: "slidegate.go", module: "github.com/slidegate/slidegate", limit: Slidegate,
		headers: []string{"Ratelimit", "Ratelimit-Policy", "X-Ratelimit-Limit", "X-Ratelimit-Remaining"},
		denied:  []string{"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Content-Type", "Retry-After", "X-Ratelimit-Retry-After"},
		fullest: 100,
	},
	{
		name: "httprate", file: "httprate.go", module: "github.com/go-chi/httprate", limit: HTTPRate,
		headers: []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"},
		denied:  []string{"Content-Type", "Retry-After", "X-Content-Type-Options"},
		fullest: 198,
	},
	{
		name: "ulule", file: "ulule.go", module: "github.com/ulule/limiter/v3", limit: Ulule, ticks: true,
		headers: []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"},
		denied:  []string{"Content-Type", "X-Content-Type-Options"},
		fullest: 199,
	},
	{
		name: "tollbooth", file: "tollbooth.go", module: "github.com/didip/tollbooth/v8", limit: Tollbooth,
		headers: []string{"Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset", "X-Rate-Limit-Duration", "X-Rate-Limit-Limit", "X-Rate-Limit-Request-Remote-Addr"},
		denied:  []string{"Content-Type"},
		fullest: 199,
	},
	{
		name: "x/time/rate", file: "xtimerate.go", module: "golang.org/x/time", limit: XTimeRate,
		headers: []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining"},
		denied:  []string{"Content-Type", "Retry-After", "X-Content-Type-Options"},
		fullest: 199,
	},
}

var noContent = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })

// TestSameJob: all programs do the job whose lines are compared.
func TestSameJob(t *testing.T) {
	for _, l := range libraries {
		t.Run(l.file, func(t *testing.T) {
			h, err := l.limit(noContent)
			if err != nil {
				t.Fatal(err)
			}
			checkJob(t, h, l.headers, l.denied)
		})
	}
}

// checkJob sends 101 requests of two clients each.
func checkJob(t *testing.T, h http.Handler, headers, denied []string) {
	t.Helper()
	for _, client := range []string{"192.0.2.1:1234", "[2001:db8::1]:1234"} {
		for range capacity {
			if w := get(h, client); w.Code != http.StatusNoContent || !slices.Equal(names(w), headers) {
				t.Fatalf("%s: status %d, fields %q, want %q", client, w.Code, names(w), headers)
			}
		}
		if client[0] == '[' {
			client = "[2001:db8::2]:1234" // of the same network
		}
		want := slices.Sorted(slices.Values(slices.Concat(headers, denied)))
		if w := get(h, client); w.Code != http.StatusTooManyRequests || !slices.Equal(names(w), want) {
			t.Errorf("%s: status %d, fields %q, want %q", client, w.Code, names(w), want)
		}
	}
}

func get(h http.Handler, client string) *httptest.ResponseRecorder {
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = client
	h.ServeHTTP(w, r)
	return w
}

func names(w *httptest.ResponseRecorder) []string { return slices.Sorted(maps.Keys(w.Header())) }

// TestFullestWindow counts what one client gets in a minute. It sends 100
// requests in the last second of a minute, 100 in the first second of the next,
// and then five a second. A request before them may have started the minute.
func TestFullestWindow(t *testing.T) {
	for _, l := range libraries {
		t.Run(l.file, func(t *testing.T) {
			if got := max(fullest(admitted(t, &l, 0)), fullest(admitted(t, &l, 1))); got != l.fullest {
				t.Errorf("%d of 100 in one minute, want %d", got, l.fullest)
			}
		})
	}
}

// admitted returns the times of admitted requests, in ascending order.
func admitted(t *testing.T, l *library, before int) (times []time.Time) {
	t.Helper()
	var h http.Handler
	var err error
	if l.ticks {
		h, err = l.limit(noContent)
	}
	synctest.Test(t, func(t *testing.T) {
		if !l.ticks {
			h, err = l.limit(noContent)
		}
		if err != nil {
			t.Fatal(err)
		}
		send := func(n int, every time.Duration) {
			for range n {
				if get(h, "192.0.2.1:1234").Code == http.StatusNoContent {
					times = append(times, time.Now())
				}
				time.Sleep(every)
			}
		}
		start := time.Now()
		send(before, time.Second)
		time.Sleep(window - time.Second - time.Since(start))
		send(2*capacity, time.Second/capacity)
		send(5*119, time.Second/5)
	})
	return times
}

// fullest returns the most times in any span of a window.
func fullest(times []time.Time) (most int) {
	for i, start := range times {
		n := 0
		for _, t := range times[i:] {
			if t.Sub(start) < window {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// TestClaims shows what docs/migrating.md says about other limiters where their
// documentation does not say it. Each request of a trace is a path, or a client
// that X-Forwarded-For makes up; each answer is a status with two fields.
func TestClaims(t *testing.T) {
	tollboothBy := func(lookup limiter.IPLookup) http.Handler {
		return tollbooth.LimitHandler(tollbooth.NewLimiter(100.0/60, nil).SetBurst(1).SetIPLookup(lookup), noContent)
	}
	trusting := ulule.New(memory.NewStore(), ulule.Rate{Period: time.Minute, Limit: 1}, ulule.WithTrustForwardHeader(true))
	store, err := memorystore.New(&memorystore.Config{Tokens: 1, Interval: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	goLimiter, err := httplimit.NewMiddleware(store, httplimit.IPKeyFunc())
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		handler        http.Handler
		requests, want string
	}{
		"tollbooth without SetIPLookup limits nothing":        {tollboothBy(limiter.IPLookup{}), "/a /a /a", "204,,; 204,,; 204,,; "},
		"tollbooth counts paths apart, and says 2 for 100/60": {tollboothBy(limiter.IPLookup{Name: "RemoteAddr"}), "/a /a /b", "204,2,; 429,2,; 204,2,; "},
		"ulule believes X-Forwarded-For":                      {stdlib.NewMiddleware(trusting).Handler(noContent), "192.0.2.1 192.0.2.2 192.0.2.2", "204,,; 204,,; 429,,; "},
		"go-limiter's Retry-After is a date":                  {goLimiter.Handle(noContent), "/a /a", "204,,; 429,,UTC; "},
	} {
		got := ""
		for _, request := range strings.Fields(test.requests) {
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
			if request[0] == '/' {
				r.URL.Path = request
			} else {
				r.Header.Set("X-Forwarded-For", request+", 198.51.100.1")
			}
			test.handler.ServeHTTP(w, r)
			after := w.Header().Get("Retry-After")
			got += fmt.Sprint(w.Code, ",", w.Header().Get("RateLimit-Limit"), ",", after[strings.LastIndex(after, " ")+1:], "; ")
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	c, err := trusting.Increment(t.Context(), "key", 11)
	next, err2 := trusting.Get(t.Context(), "key")
	if err != nil || err2 != nil || !c.Reached || !next.Reached {
		t.Errorf("ulule: one more, after a denied request of 11 that is charged: %+v, %v, %v", next, err, err2)
	}
}

// TestTable compares the table of docs/migrating.md with the code. With -update it
// writes the table.
func TestTable(t *testing.T) {
	rows := make([]string, 7)
	for i, title := range []string{"", "---", "version", "lines of code", "packages built outside std", "modules of these", "fullest minute ÷ limit"} {
		rows[i] = "| " + title + " |"
	}
	for _, l := range libraries {
		version, packages, modules := built(t, &l)
		for i, cell := range []any{l.name, "---", version, lines(t, l.file), packages, modules, fmt.Sprintf("%.2f", float64(l.fullest)/capacity)} {
			rows[i] += fmt.Sprint(" ", cell, " |")
		}
	}
	golden.CheckPart(t, "../../docs/migrating.md", "<!-- cd tools/bench && go test -run TestTable . -update -->\n", "<!-- end -->\n", strings.Join(rows, "\n")+"\n")
}

// lines counts the lines of a program but for blank ones and comments.
func lines(t *testing.T, file string) (n int) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !bytes.HasPrefix(line, []byte("//")) {
			n++
		}
	}
	return n
}

// built returns the version of a library, and what Go compiles for its program
// besides the program and std.
func built(t *testing.T, l *library) (version string, packages, modules int) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{if not .Replace}}{{.Version}}{{end}}{{end}}", l.file).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		module, v, _ := strings.Cut(strings.TrimSpace(line), " ")
		packages++
		all[module] = true
		if module == l.module {
			version = v
		}
	}
	return version, packages, len(all)
}

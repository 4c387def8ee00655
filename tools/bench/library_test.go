package bench

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"
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

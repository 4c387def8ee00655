package cache_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/internal/kit/cache"
)

var (
	epoch      = time.Unix(1_700_000_040, 0)
	errDown    = errors.New("no answer")
	errInvalid = errors.New("the value is invalid")
)

type name string

func (n name) String() string { return "value " + string(n) }

// origin is the source of the values. It counts the loads of each key, and can
// make loads fail or wait.
type origin struct {
	mu      sync.Mutex
	values  map[name]int
	loads   map[name]int
	lasts   []int // that the loads were given
	err     error
	gate    chan struct{} // if not nil, loads wait until it is closed
	reports []error
}

func (o *origin) load(ctx context.Context, _ time.Time, key name, last int) (int, error) {
	o.mu.Lock()
	o.loads[key]++
	o.lasts = append(o.lasts, last)
	gate := o.gate
	o.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.values[key] < 0 {
		return 0, errInvalid
	}
	return o.values[key], o.err
}

// put sets a value; a negative one is invalid.
func (o *origin) put(key name, value int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.values[key] = value
}

// set makes loads fail with err and wait for gate; nil for neither.
func (o *origin) set(err error, gate chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err, o.gate = err, gate
}

// taken returns the number of loads since its last call.
func (o *origin) taken() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, loads := range o.loads {
		n += loads
	}
	clear(o.loads)
	return n
}

// reported returns the reports since its last call.
func (o *origin) reported() []error {
	o.mu.Lock()
	defer o.mu.Unlock()
	errs := o.reports
	o.reports = nil
	return errs
}

func (o *origin) report(key name, last int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reports = append(o.reports, fmt.Errorf("%s keeps %d: %w", key, last, err))
}

func newCache(maxEntries int) (*cache.Reloaded[name, int], *origin) {
	o := &origin{values: map[name]int{}, loads: map[name]int{}}
	return cache.NewReloaded(cache.Options[name, int]{
		Load: o.load, Report: o.report, MaxEntries: maxEntries,
		FirstTimeout: 3 * time.Second, Timeout: 5 * time.Second,
		Answer: func(err error) bool { return errors.Is(err, errInvalid) },
	}), o
}

// TestTrace is a trace of one key: what happens at the origin, the time of the
// request, its answer, the loads so far and the reports so far.
func TestTrace(t *testing.T) {
	same := func(*origin) {}
	put := func(value int) func(*origin) { return func(o *origin) { o.put("k", value) } }
	fail := func(err error) func(*origin) { return func(o *origin) { o.set(err, nil) } }
	type step struct {
		before  func(*origin)
		at      time.Duration
		want    int
		err     error
		loads   int
		reports int
	}
	for name, trace := range map[string][]step{
		"a value": {
			{put(5), 0, 5, nil, 1, 0},
			{put(6), 9999 * time.Millisecond, 5, nil, 1, 0},
			{same, 10 * time.Second, 6, nil, 2, 0},
			{put(0), 19 * time.Second, 6, nil, 2, 0},
			{same, 20 * time.Second, 0, nil, 3, 0},
		},
		"the origin fails": {
			{put(5), 0, 5, nil, 1, 0},
			{fail(errDown), 10 * time.Second, 5, nil, 2, 1},
			{same, 10999 * time.Millisecond, 5, nil, 2, 1}, // the next load is a second later
			{same, 11 * time.Second, 5, nil, 3, 2},
			{same, 12999 * time.Millisecond, 5, nil, 3, 2}, // two seconds later
			{same, 13 * time.Second, 5, nil, 4, 3},
			{same, 17 * time.Second, 5, nil, 5, 4},
			{same, 25 * time.Second, 5, nil, 6, 5},
			{same, 34 * time.Second, 5, nil, 6, 5}, // ten seconds later at most
			{same, 35 * time.Second, 5, nil, 7, 6},
			{same, 24 * time.Hour, 5, nil, 8, 7}, // however old
			{fail(nil), 24*time.Hour + 9*time.Second, 5, nil, 8, 7},
			{put(6), 24*time.Hour + 10*time.Second, 6, nil, 9, 7},
			{put(7), 24*time.Hour + 19*time.Second, 6, nil, 9, 7}, // fresh again
			{fail(errDown), 24*time.Hour + 20*time.Second, 6, nil, 10, 8},
			{fail(nil), 24*time.Hour + 21*time.Second, 7, nil, 11, 8}, // a second after the first failure
		},
		"the origin fails at first": {
			{fail(errDown), 0, 0, errDown, 1, 0},
			{same, 0, 0, errDown, 2, 0}, // the cache does not keep the failure
			{fail(nil), 0, 0, nil, 3, 0},
			{put(5), 10 * time.Second, 5, nil, 4, 0},
		},
		"an invalid value after a valid one": {
			{put(5), 0, 5, nil, 1, 0},
			{put(-1), 10 * time.Second, 5, nil, 2, 1},
			{same, 19 * time.Second, 5, nil, 2, 1},
			{put(6), 20 * time.Second, 6, nil, 3, 1},
		},
		"an invalid value at first": {
			{put(-1), 0, 0, errInvalid, 1, 0},
			{same, 9 * time.Second, 0, errInvalid, 1, 0}, // the cache keeps the answer
			{put(6), 10 * time.Second, 6, nil, 2, 0},
		},
		"an invalid value at first, then a failure": {
			{put(-1), 0, 0, errInvalid, 1, 0},
			{func(o *origin) { o.put("k", 0); o.set(errDown, nil) }, 10 * time.Second, 0, errDown, 2, 0},
			{same, 10 * time.Second, 0, errDown, 3, 0},
			{func(o *origin) { o.put("k", -1); o.set(nil, nil) }, 10 * time.Second, 0, errInvalid, 4, 0},
			{put(0), 20 * time.Second, 0, nil, 5, 0},
		},
		"the clock is set back": {
			{put(5), 0, 5, nil, 1, 0},
			{put(6), -9 * time.Second, 5, nil, 1, 0}, // as far as requests side by side may differ
			{same, -10 * time.Second, 6, nil, 2, 0},
			{put(7), -time.Hour, 7, nil, 3, 0},
			{put(8), -time.Hour + 10*time.Second, 8, nil, 4, 0},
		},
		"the clock is set back on an invalid value": {
			{put(-1), 0, 0, errInvalid, 1, 0},
			{put(6), -time.Hour, 6, nil, 2, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cache, o := newCache(0)
			loads, reports := 0, 0
			for i, s := range trace {
				s.before(o)
				got, err := cache.Get(t.Context(), epoch.Add(s.at), "k")
				loads, reports = loads+o.taken(), reports+len(o.reported())
				if got != s.want || !errors.Is(err, s.err) || loads != s.loads || reports != s.reports {
					t.Fatalf("step %d: %d, error %v, %d loads, %d reports; want %+v", i, got, err, loads, reports, s)
				}
			}
		})
	}
}

// TestLastValue: Load receives the cached value.
func TestLastValue(t *testing.T) {
	cache, o := newCache(0)
	for i, value := range []int{5, 6, -1, 7} {
		o.put("k", value)
		_, _ = cache.Get(t.Context(), epoch.Add(time.Duration(i)*time.Minute), "k")
	}
	if got := fmt.Sprint(o.lasts); got != "[0 5 6 6]" {
		t.Errorf("loads were given %s", got)
	}
	if errs := o.reported(); len(errs) != 1 || errs[0].Error() != "value k keeps 6: the value is invalid" {
		t.Errorf("reported %v", errs)
	}
}

// TestBound: a flood of keys does not fill the memory.
func TestBound(t *testing.T) {
	cache, _ := newCache(500)
	for i := range 20_000 {
		if _, err := cache.Get(t.Context(), epoch, name(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	if n := cache.Len(); n > 500 {
		t.Errorf("%d entries, want at most 500", n)
	}
}

// TestAges is a trace of a cache whose values are fresh for a minute, are loaded
// again after a pause that grows to ten seconds, and end after two minutes.
func TestAges(t *testing.T) {
	o := &origin{values: map[name]int{}, loads: map[name]int{}}
	cache := cache.NewReloaded(cache.Options[name, int]{
		Load: o.load, FirstTimeout: time.Second, Timeout: time.Second,
		Fresh: time.Minute, MaxAge: 2 * time.Minute,
	})
	for i, step := range []struct {
		at    int // seconds
		need  int // of a request that renews lower values; 0 for none
		value int // of the origin; -1 for a failure
		want  int // -1 for an error
		loads int
	}{
		{0, 0, 5, 5, 1},
		{59, 0, 6, 5, 0},
		{60, 0, 7, 7, 1},
		{61, 7, 8, 7, 0}, // the cached value is enough
		{80, 8, 8, 8, 1},
		{80, 9, 8, 8, 1},
		{110, 9, -1, 8, 1},
		{111, 0, -1, 8, 1},
		{112, 0, 9, 8, 0},
		{120, 0, -1, 8, 1},
		{124, 0, -1, 8, 1},
		{131, 0, -1, 8, 0},
		{132, 0, -1, 8, 1},
		{191, 0, -1, 8, 1},
		{199, 0, -1, 8, 0},
		{200, 0, -1, -1, 1}, // the value is of second 80
		{202, 9, 9, 9, 1},
	} {
		o.put("k", step.value)
		now := epoch.Add(time.Duration(step.at) * time.Second)
		got, err := cache.Get(t.Context(), now, "k")
		if step.need > 0 {
			got, err = cache.Renew(t.Context(), now, "k", func(value int) bool { return value >= step.need })
		}
		if err != nil {
			got = -1
		}
		if n := o.taken(); got != step.want || n != step.loads {
			t.Errorf("step %d: %d after %d loads, error %v; want %d after %d", i, got, n, err, step.want, step.loads)
		}
	}
}

// TestFirstWait: a request waits for a first value for FirstWait. The load goes on.
func TestFirstWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		o := &origin{values: map[name]int{"k": 5}, loads: map[name]int{}, gate: gate}
		cache := cache.NewReloaded(cache.Options[name, int]{Load: o.load, FirstTimeout: 3 * time.Second, Timeout: time.Second, FirstWait: time.Second})
		start := time.Now()
		if _, err := cache.Get(t.Context(), epoch, "k"); err == nil || time.Since(start) != time.Second {
			t.Errorf("error %v after %v, want one after 1 s", err, time.Since(start))
		}
		close(gate)
		if got, err := cache.Get(t.Context(), epoch, "k"); got != 5 || err != nil || o.taken() != 1 {
			t.Errorf("%d, error %v", got, err)
		}
	})
}

// TestOutageOfManyKeys: of a thousand keys whose loads fail in the same second,
// ten are loaded again before ten seconds are over.
func TestOutageOfManyKeys(t *testing.T) { synctest.Test(t, outageOfManyKeys) }

func outageOfManyKeys(t *testing.T) {
	cache, o := newCache(0)
	load := func(second int) int {
		for i := range 1000 {
			_, _ = cache.Get(t.Context(), epoch.Add(time.Duration(second)*time.Second), name(fmt.Sprint(i)))
		}
		return o.taken()
	}
	load(0)
	o.set(errDown, nil)
	var loads []int
	for second := 10; second < 32; second++ {
		loads = append(loads, load(second))
	}
	if got, want := fmt.Sprint(loads), "[1000 10 0 10 0 0 0 10 0 0 990 0 0 0 0 10 0 0 0 0 990 0]"; got != want {
		t.Errorf("%s loads a second, want %s", got, want)
	}
}

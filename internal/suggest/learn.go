package suggest

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sort"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/logs"
	"github.com/slidegate/slidegate/internal/peaks"
	"github.com/slidegate/slidegate/internal/rules"
)

// learner is the first pass.
type learner struct {
	report  Report
	name    string // of the rule
	set     *rules.Set
	rule    *rules.Rule // with a limit of any capacity
	reads   []rules.Read
	lacking []int64 // counted requests without each of reads
	only    []rules.Statuses
	exclude []exclusion
	windows []peaks.Window // of limit i: exact at 2i, as the limit counts at 2i+1
	keys    map[string]*history
	key     []byte
}

// exclusion leaves out a key, or the clients of a network.
type exclusion struct {
	text    string       // as stated
	network netip.Prefix // the zero Prefix for a key
	used    bool         // a request was left out
}

// history is the traffic of one key.
type history struct {
	peaks    peaks.Counter
	start    time.Time // of the first request
	activity []activity
}

func newLearner(o *Options) (*learner, error) {
	l := &learner{name: ruleName(o.Key), only: o.Only, keys: map[string]*history{}}
	l.report.Key = o.Key
	if len(o.Windows) > limit.MaxLimits {
		return nil, fmt.Errorf("--window: %d windows, but a rule has at most %d limits", len(o.Windows), limit.MaxLimits)
	}
	for _, window := range o.Windows {
		set, err := compile(l.name, o.Key, window)
		if err != nil {
			return nil, err
		}
		l.set, l.rule = set, set.Rules[0] // of any window: it is for the key
		own := &l.rule.Limits[0]
		for _, earlier := range l.report.Windows {
			if earlier.Length == own.Window {
				return nil, fmt.Errorf("--window %s: as long as %s: leave out one", window, earlier.Window)
			}
		}
		l.windows = append(l.windows, peaks.Exact(own.Window), peaks.Of(own))
		l.report.Windows = append(l.report.Windows, Window{Window: window, Length: own.Window})
	}
	l.reads = l.set.Reads(l.rule)
	l.lacking = make([]int64, len(l.reads))
	for _, text := range o.Exclude {
		network, err := netip.ParsePrefix(text)
		if address, failed := netip.ParseAddr(text); err != nil && failed == nil {
			network = netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen())
		}
		l.exclude = append(l.exclude, exclusion{text: text, network: network})
	}
	return l, nil
}

// learn counts a request of the first pass.
func (l *learner) learn(_ context.Context, e *logs.Entry) error {
	r := &l.report
	r.Extent.Count(e)
	l.set.Locate(e.Request)
	l.key = l.rule.AppendKey(l.key[:0], e.Request)
	if left := l.leftOut(e); left != nil {
		*left++
		return nil
	}
	r.Counted++
	if e.Status > 0 {
		r.WithStatus++
	}
	for i := range l.reads {
		if !l.reads[i].In(e.Request) {
			l.lacking[i]++
		}
	}
	h := l.keys[string(l.key)]
	if h == nil {
		if len(l.keys) == maxKeys {
			return fmt.Errorf("the log has over %d keys: give fewer logs, or a key with fewer values", maxKeys)
		}
		h = &history{start: e.Time, activity: make([]activity, len(r.Windows))}
		l.keys[string(l.key)] = h
	}
	h.peaks.Add(l.windows, e.Time)
	for i := range h.activity {
		h.activity[i].add(int64(e.Time.Sub(h.start) / r.Windows[i].Length))
	}
	return nil
}

// leftOut returns the count of the report for the reason to leave out a request,
// whose key is in l.key; nil for none.
func (l *learner) leftOut(e *logs.Entry) *int64 {
	r := &l.report
	switch {
	case l.set.Ambiguous(e.Request), !l.rule.Counts(e.Request): // as the engine decides
		return &r.Uncounted
	case l.excludes(e.Request.IP.Unmap()):
		return &r.Excluded
	case len(l.only) > 0 && !rules.Among(l.only, e.Status):
		return &r.OtherStatus
	}
	return nil
}

// excludes reports whether an option leaves out the key in l.key or a client.
func (l *learner) excludes(client netip.Addr) (out bool) {
	for i := range l.exclude {
		if x := &l.exclude[i]; x.text == string(l.key) || x.network.Contains(client) {
			x.used, out = true, true
		}
	}
	return out
}

// byPeak returns the keys of a window by their peak, the highest first; equals
// by name.
func (l *learner) byPeak(window int) []Key {
	all := make([]Key, 0, len(l.keys))
	for name, h := range l.keys {
		k := Key{Key: name, Typical: h.activity[window].median()}
		k.Peak, k.At = h.peaks.Peak(2 * window)
		k.counted, _ = h.peaks.Peak(2*window + 1)
		k.At = k.At.UTC()
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b Key) int {
		return cmp.Or(cmp.Compare(b.Peak, a.Peak), cmp.Compare(b.counted, a.counted), cmp.Compare(a.Key, b.Key))
	})
	return all
}

// activity counts how many requests each window of a key had. Windows follow
// one another from the key's first request, and those without a request do not
// count. It has an element for each number of requests that occurred: few,
// because their sum is at most that of all requests.
type activity struct {
	window int64 // the current one
	n      int   // its requests
	all    []frequency
}

type frequency struct{ requests, windows int }

func (a *activity) add(window int64) {
	if window > a.window { // a late request counts in the current window
		a.end()
		a.window, a.n = window, 0
	}
	a.n++
}

// end counts the current window.
func (a *activity) end() {
	i := sort.Search(len(a.all), func(i int) bool { return a.all[i].requests >= a.n })
	if i == len(a.all) || a.all[i].requests != a.n {
		a.all = slices.Insert(a.all, i, frequency{requests: a.n})
	}
	a.all[i].windows++
}

// median ends the current window, and returns the requests of the typical one:
// half of the windows with a request have at most as many. It is the lower of
// two in the middle.
func (a *activity) median() int64 {
	a.end()
	windows := 0
	for _, f := range a.all {
		windows += f.windows
	}
	at := (windows + 1) / 2
	for _, f := range a.all {
		if at -= f.windows; at <= 0 {
			return int64(f.requests)
		}
	}
	return 0
}

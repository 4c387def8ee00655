package suggest

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/replay"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
)

var seed = maphash.MakeSeed()

// learner is the first pass.
type learner struct {
	report   Report
	again    logs.Extent // of the second pass
	sum      uint64      // of the counted requests of the first pass
	sumAgain uint64
	set      *rules.Set
	rule     *rules.Rule   // its capacity is a placeholder
	limits   []limit.Limit // of each window
	verdict  limit.Verdict
	reads    []rules.Read
	lacking  []int64 // counted requests without each of reads
	o        *Options
	exclude  []exclusion
	days     map[int64]bool      // with requests, since 1970 in UTC
	windows  []replay.PeakWindow // of limit i: exact at 2i, as the limit counts at 2i+1
	keys     map[string]*history
	key      []byte
}

// exclusion leaves out a key, or the clients of a network.
type exclusion struct {
	text    string       // as stated
	network netip.Prefix // the zero Prefix for a key
	used    bool         // a request was left out
}

// history is the traffic of one key.
type history struct {
	peaks    replay.Peaks
	start    time.Time // of the first request
	requests int64
	statuses [6]int64 // by their class; 0 for unknown
	activity []activity
	trials   []trial
}

func newLearner(o *Options) (*learner, error) {
	l := &learner{o: o, keys: map[string]*history{}, days: map[int64]bool{}}
	l.report.Key = o.Key
	if len(o.Windows) > limit.MaxLimits {
		return nil, fmt.Errorf("--window: %d windows, but a rule has at most %d limits", len(o.Windows), limit.MaxLimits)
	}
	for _, window := range o.Windows {
		set, err := compile(o, window)
		if err != nil {
			return nil, err
		}
		l.set, l.rule = set, set.Rules[0] // of any window: it is for the key
		own := l.rule.Limits[0]
		for i := range l.limits {
			if l.limits[i].Window == own.Window {
				return nil, fmt.Errorf("--window %s: as long as %s: leave out one", window, o.Windows[i])
			}
		}
		l.limits = append(l.limits, own)
		l.windows = append(l.windows, replay.ExactWindow(own.Window), replay.WindowOf(&own))
		l.report.Windows = append(l.report.Windows, Window{Window: window, Length: own.Window})
	}
	l.reads = l.set.Reads(l.rule)
	l.lacking = make([]int64, len(l.reads))
	for _, text := range o.Exclude {
		network, err := netip.ParsePrefix(text)
		network = request.CanonicalNetwork(network)
		if address := request.ParseAddr(text); err != nil && address.IsValid() {
			network = netip.PrefixFrom(address, address.BitLen())
		}
		l.exclude = append(l.exclude, exclusion{text: text, network: network})
	}
	return l, nil
}

// learn counts a request of the first pass.
func (l *learner) learn(_ context.Context, e *logs.Entry) error {
	r := &l.report
	left := l.leftOut(e)
	if r.Extent.Count(e); left != nil {
		*left++
		return nil
	}
	l.sum = l.sumWith(l.sum, e)
	r.Counted++
	l.days[e.Time.Unix()/86400] = true
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
	h.requests++
	h.statuses[e.Status/100]++
	h.peaks.Add(l.windows, e.Time)
	for i := range h.activity {
		h.activity[i].add(int64(e.Time.Sub(h.start) / r.Windows[i].Length))
	}
	return nil
}

// leftOut finds the key of a request, and returns the count of the report for the
// reason to leave it out; nil for none.
func (l *learner) leftOut(e *logs.Entry) *int64 {
	r := &l.report
	l.set.Locate(e.Request)
	l.key = l.rule.AppendKey(l.key[:0], e.Request)
	switch {
	case l.set.Ambiguous(e.Request), !l.rule.Counts(e.Request): // as the engine decides
		return &r.Uncounted
	case !l.rule.When().Covers(e.Request):
		return &r.OtherRoute
	case l.excludes(e.Request.Addr()):
		return &r.Excluded
	case len(l.o.Only) > 0 && !rules.Among(l.o.Only, e.Status):
		return &r.OtherStatus
	}
	return nil
}

// sumWith adds a request, whose key is in l.key, to a sum that tells whether both
// passes read the same.
func (l *learner) sumWith(sum uint64, e *logs.Entry) uint64 {
	return sum*31 + maphash.Bytes(seed, l.key) + uint64(e.Time.UnixNano())
}

// excludes reports whether an option leaves out the key in l.key or a client.
func (l *learner) excludes(client netip.Addr) (out bool) {
	if len(l.exclude) == 0 {
		return false
	}
	key := string(l.key)
	plain, shown := key, key
	if strings.Contains(key, "%") {
		plain, _ = url.PathUnescape(key)
		shown = text.Key(key)
	}
	for i := range l.exclude {
		if x := &l.exclude[i]; x.text == key || x.text == plain || x.text == shown || x.network.Contains(client) {
			x.used, out = true, true
		}
	}
	return out
}

// byPeak returns the keys of a window by their peak as the limit counts, the
// highest first; equals by their exact peak, then by name.
func (l *learner) byPeak(window int) []Key {
	all := make([]Key, 0, len(l.keys))
	for name, h := range l.keys {
		k := Key{Key: name, Typical: h.activity[window].median()}
		k.Peak, k.At = h.peaks.Peak(2 * window)
		k.Counted, _ = h.peaks.Peak(2*window + 1)
		k.At = k.At.UTC()
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b Key) int {
		return cmp.Or(cmp.Compare(b.Counted, a.Counted), cmp.Compare(b.Peak, a.Peak), cmp.Compare(a.Key, b.Key))
	})
	return all
}

// activity counts the requests of each window of a key. Windows follow one another
// from the key's first request, and those without a request do not count.
type activity struct {
	window int64 // the current one
	counts []uint32
}

func (a *activity) add(window int64) {
	if len(a.counts) == 0 || window > a.window { // a late request counts in the current window
		a.window, a.counts = window, append(a.counts, 0)
	}
	a.counts[len(a.counts)-1]++
}

// median sorts the counts, and returns the lower of two in the middle.
func (a *activity) median() int64 {
	slices.Sort(a.counts)
	return int64(a.counts[(len(a.counts)-1)/2])
}

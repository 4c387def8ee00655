// Package suggest proposes limits by recorded traffic.
//
// It reads the traffic twice. The first pass finds each key's peak: the most
// requests in any window. The peaks show which keys each capacity would
// touch. The second pass decides the requests of these keys.
package suggest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/replay"
	"github.com/slidegate/slidegate/internal/rules"
)

// MinKeys is the fewest keys to choose a limit by: of fewer, 1% says nothing.
const MinKeys = 30

// maxKeys bounds the keys in memory, about 500 bytes each.
const maxKeys = 4_000_000

// Options say what to propose limits for.
type Options struct {
	Key     string   // a template, as rules state it
	Windows []string // as rules state them
	// Hops is the number of trusted proxies that add to X-Forwarded-For, for {ip}.
	Hops int
	// Exclude leaves out requests: by keys, escaped or not, and by addresses and
	// networks of clients.
	Exclude []string
	Only    []rules.Statuses // of the requests to learn from; all if empty
	// Path and Methods choose the requests that the rule covers; all if empty.
	Path    string
	Methods []string
}

// Report is limits to choose from. A denied request is one that the proposed
// limit would deny.
type Report struct {
	logs.Extent          // of the first pass, with the requests that were left out
	SpanSeconds float64  `json:"span_s"`
	Fields      []string `json:"fields"` // that the logs have

	Key         string        `json:"key"`
	Keys        int           `json:"keys"`
	Counted     int64         `json:"counted"`      // requests that the rule counts and no option leaves out
	Excluded    int64         `json:"excluded"`     // left out by Options.Exclude
	OtherStatus int64         `json:"other_status"` // left out by Options.Only
	OtherRoute  int64         `json:"other_route"`  // left out by Options.Path and Options.Methods
	Uncounted   int64         `json:"uncounted"`    // preflights, and paths that are denied before any rule
	WithStatus  int64         `json:"with_status"`  // of Counted
	Lacking     []replay.Lack `json:"lacking,omitempty"`

	Floods     []Flood    `json:"floods"` // far above the other keys, the most requests first; at most 100
	Windows    []Window   `json:"windows"`
	Confidence Confidence `json:"confidence"`
	Proposed   Outcome    `json:"proposed"` // of the knees in one rule, without those that deny nothing alone
	Rules      string     `json:"rules"`    // a file with that rule
	Warnings   []string   `json:"-"`        // of that file
	Unused     []string   `json:"-"`        // of Options.Exclude, without any request
}

// Flood is a key whose peak is over ten times that which a tenth of the keys reach,
// or that has over a tenth of the requests and ten times as many as the others have
// on average.
type Flood struct {
	Key      string           `json:"key"`
	Requests int64            `json:"requests"`
	Peak     int64            `json:"peak"` // in the first of the windows
	Until    time.Time        `json:"until"`
	Statuses map[string]int64 `json:"statuses"` // requests by the class of their answer, such as 4xx
}

// Window is the limits to choose from for one window.
type Window struct {
	Window  string        `json:"window"`
	Length  time.Duration `json:"-"`
	Limits  []Row         `json:"limits"`  // ascending
	Spikes  int           `json:"spikes"`  // keys above the knee whose peak is over ten times their typical window
	Spiking []Key         `json:"spiking"` // of these, by their peak; at most 5
}

// Row is what one limit would do.
type Row struct {
	Limit int64 `json:"limit"`
	Knee  bool  `json:"knee"` // the smallest limit that touches at most 1% of the keys
	Outcome
	First *Key `json:"hit_first"` // the highest peak that the next higher limit allows; nil for none
}

// Outcome is whom a limit touches.
type Outcome struct {
	Keys       int   `json:"keys_touched"` // with a denied request
	Denied     int64 `json:"denied"`
	WithStatus int64 `json:"denied_with_status"` // of Denied
	Answered   int64 `json:"denied_answered_2xx"`
}

// Key is a key and its traffic in one window.
type Key struct {
	Key     string    `json:"key"`
	Peak    int64     `json:"peak"` // requests in any window of this length, to the nanosecond
	At      time.Time `json:"at"`   // of the last of them
	Typical int64     `json:"typical"`

	Counted int64 `json:"peak_counted"` // the peak as the limit counts, by slots
}

// Confidence says how much traffic there was to learn from.
type Confidence struct {
	Level     string   `json:"level"` // low, fair or good
	Reasons   []string `json:"reasons"`
	WholeWeek bool     `json:"whole_week"`
}

// Check returns what is wrong with options.
func Check(o *Options) error {
	_, err := newLearner(o)
	return err
}

// Run proposes limits. pass is called before each of the two passes over the
// traffic. It fails for options that make no rule, for fewer than MinKeys keys,
// for logs that lack the key, and for logs that change between the passes.
func Run(ctx context.Context, t *logs.Traffic, o Options, pass func(number int)) (*Report, error) {
	l, err := newLearner(&o)
	if err != nil {
		return nil, err
	}
	pass(1)
	if err := t.Each(ctx, &l.report.Extent, l.learn); err != nil {
		return &l.report, err
	}
	if err := l.finish(); err != nil {
		return &l.report, err
	}
	if err := l.choose(); err != nil {
		return &l.report, err
	}
	pass(2)
	if err := t.Each(ctx, &l.again, l.predict); err != nil {
		return &l.report, err
	}
	if l.again.Requests != l.report.Requests || l.sumAgain != l.sum {
		return &l.report, errChanged
	}
	return &l.report, nil
}

var errChanged = errors.New("the logs changed between the two passes: copy them first")

// finish completes what the report says of the traffic. It fails if there is too
// little to learn from.
func (l *learner) finish() error {
	r := &l.report
	r.Fields, r.SpanSeconds, r.Keys = r.Extent.Fields, r.Span().Seconds(), len(l.keys)
	for i, read := range l.reads {
		switch lack := l.lacking[i]; {
		case lack == 0:
		case lack == r.Counted:
			return fmt.Errorf("no request has %s, which the key %s reads: the log has %s", read.String(), r.Key, strings.Join(r.Fields, ", "))
		default:
			r.Lacking = append(r.Lacking, replay.Lack{Field: read.String(), Use: read.Use, Requests: lack})
		}
	}
	if r.Counted == 0 && r.OtherRoute > 0 {
		return errors.New("no request has the path of --path, which sees no query string, and a method of --method")
	}
	if len(l.o.Only) > 0 && r.Statuses == 0 && r.Requests > 0 {
		return errors.New("the log has no statuses to choose requests by")
	}
	if r.Requests == 0 {
		return errors.New("the log has no requests")
	}
	if r.Keys < MinKeys {
		behind := ""
		if l.o.Hops == 0 && slices.Contains(r.Fields, "header.x-forwarded-for") {
			behind = "; --trusted-hops finds clients behind proxies"
		}
		return fmt.Errorf("want at least %d keys, got %d (%s, %s left out): add logs, or use a key with more values%s",
			MinKeys, r.Keys, text.Plural(r.Counted, "request"), text.Thousands(r.Requests-r.Counted), behind)
	}
	r.First, r.Last = r.First.UTC(), r.Last.UTC()
	r.Confidence = confidence(r, len(l.days))
	for _, x := range l.exclude {
		if !x.used {
			r.Unused = append(r.Unused, x.text)
		}
	}
	return nil
}

// Periods is how many periods of a window the traffic must cover for a limit in it,
// unless it is the shortest.
const Periods = 3

// Covers reports whether the traffic is as long as a window, but for a hundredth:
// a log of one day ends before the time at which it began.
func (r *Report) Covers(length time.Duration) bool { return r.Span() >= length-length/100 }

// confidence is low, fair or good, by the number of keys, the time covered, and
// the days with requests.
func confidence(r *Report, days int) Confidence {
	const day, week = 24 * time.Hour, 7 * 24 * time.Hour
	length := fmt.Sprintf("%s with requests in %s", text.Plural(days, "day"), text.Brief(r.Span()))
	c := Confidence{Level: "good", WholeWeek: days >= 7 && r.Covers(week)}
	keys := text.Plural(r.Keys, "key")
	if r.Keys < 100 {
		keys += ": 1% is less than one key, so a knee touches none"
	}
	switch {
	case !r.Covers(day):
		length += ": no whole day, daily and weekly peaks are not in it"
	case !c.WholeWeek:
		length += ": no whole week, weekly peaks are not in it"
	default:
		length += ": a whole week is covered"
	}
	switch {
	case r.Keys < 100 || !r.Covers(day):
		c.Level = "low"
	case r.Keys < 1000 || !c.WholeWeek:
		c.Level = "fair"
	}
	c.Reasons = []string{keys, length}
	return c
}

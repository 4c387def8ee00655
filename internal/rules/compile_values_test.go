package rules

import (
	"reflect"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// TestCompileWith: limits of Go programs compile to what the same limits compile
// to in a document, so both share their counters.
func TestCompileWith(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	day, second := 15, time.Second
	for _, test := range []struct {
		name  string
		goes  []GoLimit
		texts []ruledoc.Limit
	}{
		{"a window", []GoLimit{{Capacity: 9, Window: time.Minute}}, []ruledoc.Limit{{Capacity: 9, Window: "1m"}}},
		{"slots", []GoLimit{{Capacity: 9, Window: 61 * time.Second, Slots: &second}},
			[]ruledoc.Limit{{Capacity: 9, Window: "61s", Granularity: "1s"}}},
		{"a log", []GoLimit{{Algorithm: limit.SlidingWindowLog, Capacity: 9, Window: time.Minute}},
			[]ruledoc.Limit{{Algorithm: "sliding_window_log", Capacity: 9, Window: "1m"}}},
		{"a counter", []GoLimit{{Algorithm: limit.SlidingWindowCounter, Capacity: 9, Window: 7 * time.Minute}},
			[]ruledoc.Limit{{Algorithm: "sliding_window_counter", Capacity: 9, Window: "7m"}}},
		{"buckets in the order of their names", []GoLimit{
			{Algorithm: limit.TokenBucket, Capacity: 9, Size: 50, Window: time.Second},
			{Algorithm: limit.LeakyBucket, Capacity: 9, Window: time.Hour},
			{Name: "a", Algorithm: limit.LeakyBucket, Capacity: 9, Size: 2, Window: 24 * time.Hour},
		}, []ruledoc.Limit{
			{Algorithm: "token_bucket", Capacity: 9, Burst: 50, Window: "1s"},
			{Algorithm: "leaky_bucket", Capacity: 9, Window: "1h"},
			{Name: "a", Algorithm: "leaky_bucket", Capacity: 9, Queue: 2, Window: "1d"},
		}},
		{"calendars, and days of UTC without one", []GoLimit{
			{Algorithm: limit.FixedWindow, Capacity: 9, Zone: time.UTC},
			{Algorithm: limit.FixedWindow, Capacity: 9, Zone: berlin, Name: "berlin"},
			{Algorithm: limit.FixedWindow, Capacity: 9, Zone: time.UTC, Unit: limit.Week},
			{Algorithm: limit.FixedWindow, Capacity: 9, Zone: berlin, Unit: limit.Month, Anchor: &day},
		}, []ruledoc.Limit{
			{Algorithm: "fixed_window", Capacity: 9, Window: "1d", Timezone: "UTC"},
			{Algorithm: "fixed_window", Capacity: 9, Window: "1d", Timezone: "Europe/Berlin", Name: "berlin"},
			{Capacity: 9, Window: "1w"},
			{Capacity: 9, Window: "1mo", Timezone: "Europe/Berlin", Anchor: &ruledoc.Anchor{Day: 15}},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			document := func(limits []ruledoc.Limit) *ruledoc.Document {
				return &ruledoc.Document{Rules: []ruledoc.Rule{{Name: "r", Key: "ip:{ip}", Limits: limits}}}
			}
			got, problems := CompileWith(document(nil), [][]GoLimit{test.goes})
			want, others := Compile(document(test.texts))
			if len(problems)+len(others) > 0 {
				t.Fatal(problems, others)
			}
			g, w := got.Rules[0], want.Rules[0]
			if !reflect.DeepEqual(g.Limits, w.Limits) || !reflect.DeepEqual(g.Costs, w.Costs) || !reflect.DeepEqual(g.Places, w.Places) {
				t.Errorf("got  %+v %v %v\nwant %+v %v %v", g.Limits, g.Costs, g.Places, w.Limits, w.Costs, w.Places)
			}
		})
	}
}

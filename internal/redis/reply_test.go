package redis

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/slidegate/slidegate/internal/limit"
)

func TestReadState(t *testing.T) {
	slots := limit.Limit{Capacity: 9, Window: time.Minute, Granularity: time.Second}
	log := limit.Limit{Algorithm: limit.SlidingWindowLog, Capacity: 9, Window: time.Minute, Granularity: limit.Exact}
	for text, want := range map[string][]limit.Slot{
		"":                   nil,
		"7:1":                {{Number: 7, Units: 1}},
		"-2:0 -1:3 0:4":      {{Number: -2}, {Number: -1, Units: 3}, {Number: 0, Units: 4}},
		"1:9007199254740991": {{Number: 1, Units: mostUnits}},
	} {
		s, err := readState(&slots, text)
		if err != nil || !slices.Equal(slices.Collect(s.All()), want) {
			t.Errorf("%q is %v, %v; want %v", text, slices.Collect(s.All()), err, want)
		}
	}
	for text, want := range map[string][]limit.Slot{
		"1.000000002:3":                {{Number: 1_000_000_002, Units: 3}},
		"-1.250000000:1 0.000000000:2": {{Number: -750_000_000, Units: 1}, {Number: 0, Units: 2}},
	} {
		s, err := readState(&log, text)
		if err != nil || !slices.Equal(slices.Collect(s.All()), want) {
			t.Errorf("%q is %v, %v; want %v", text, slices.Collect(s.All()), err, want)
		}
	}
	bucket := limit.Limit{Algorithm: limit.TokenBucket, Capacity: 9, Window: time.Minute, Burst: 9}
	for text, want := range map[string]int64{"1.000000002": 1_000_000_002, "-1.250000000": -750_000_000, "9223372035.999999999": 9223372035999999999} {
		s, err := readState(&bucket, text)
		if full, ok := s.Full(); err != nil || !ok || full != want {
			t.Errorf("%q is %v, %v; want %v", text, full, err, want)
		}
	}
	if s, err := readState(&bucket, ""); err != nil {
		t.Error(err)
	} else if _, ok := s.Full(); ok {
		t.Error("an empty text is a charged bucket")
	}
}

// TestReadNoState checks that a text is an error if the script does not format
// it so, if it is out of order, or if its numbers are out of range.
func TestReadNoState(t *testing.T) {
	slots := limit.Limit{Capacity: 9, Window: time.Minute, Granularity: time.Second}
	daily := limit.Limit{
		Algorithm: limit.FixedWindow, Capacity: 9, Window: 24 * time.Hour, Granularity: 24 * time.Hour,
		Calendar: &limit.Calendar{Unit: limit.Day, Location: time.UTC},
	}
	log := limit.Limit{Algorithm: limit.SlidingWindowLog, Capacity: 9, Window: time.Minute, Granularity: limit.Exact}
	bucket := limit.Limit{Algorithm: limit.TokenBucket, Capacity: 9, Window: time.Minute, Burst: 9}
	for _, test := range []struct {
		limit     *limit.Limit
		good, bad []string
	}{
		{
			&slots,
			[]string{"9:9", "1:0", "-9223371974:1 9223371974:1", "1:9007199254740991", records(1001)},
			[]string{
				" ", ":", "x:1", "a:1", "1", "1:", "1:x", "1:a", "1:-1", "1:1 ", " 1:1", "1:1  2:1", "1:1 1:1", "2:1 1:1", "1:1 3:1 2:1",
				"9223371975:1", "-9223371975:1", "9223372036854775808:1", "1:9007199254740992", "1:18446744073709551616", records(1002),
			},
		},
		{&daily, []string{"-110000:1 110000:1"}, []string{"110001:1", "-110001:1", "1.000000000:1"}},
		{
			&log,
			[]string{"-9223371975.000000000:1 9223371975.000000000:1", "9.999999999:1"},
			[]string{"9223371975.000000001:1", "-9223371976.999999999:1", "1:1", "1.000000000", "1.000000000:1 1.000000000:1"},
		},
		{
			&bucket,
			[]string{"-9223372035.000000000", "9223372035.999999999"},
			[]string{
				" ", "1", "1.00000000", "1.0000000000", ".000000000", "x.000000000", "a.000000000", "1.00000000x", "1.00000000a", "1.-00000001",
				"1:1", "9223372036.000000000", "-9223372036.000000000", "9223372036854775808.000000000",
			},
		},
	} {
		for _, text := range test.good {
			if _, err := readState(test.limit, text); err != nil {
				t.Errorf("a %s of %.60q: %v", test.limit.Algorithm, text, err)
			}
		}
		for _, text := range test.bad {
			if s, err := readState(test.limit, text); err == nil {
				t.Errorf("a %s of %.60q is %+v", test.limit.Algorithm, text, s)
			}
		}
	}
}

// records formats n slots of one unit each.
func records(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint(i, ":1"))
	}
	return strings.Join(all, " ")
}

// TestReadAnswer checks that a malformed reply is an error with the reason, and
// no admission.
func TestReadAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		reply []any
		want  error
		text  string // of the error
	}{
		"nothing":                {nil, errReply, "0 parts"},
		"two parts":              {[]any{int64(1), int64(2)}, errReply, "2 parts"},
		"charged twice":          {[]any{int64(2), int64(0), int64(0), "life", "1:1", ""}, errReply, "begins with [2 0 0]"},
		"no time":                {[]any{int64(1), "0", int64(0), "life", "1:1", ""}, errReply, "part 1 is a string"},
		"nanoseconds below 0":    {[]any{int64(1), int64(0), int64(-1), "life", "1:1", ""}, errReply, "begins with [1 0 -1]"},
		"a second of them":       {[]any{int64(1), int64(0), int64(1_000_000_000), "life", "1:1", ""}, errReply, "begins with [1 0 1000000000]"},
		"a time out of range":    {[]any{int64(1), int64(math.MaxInt64), int64(0), "life", "1:1", ""}, errReply, "time is 9223372036854775807"},
		"no counter":             {[]any{int64(1), int64(0), int64(0)}, errReply, "a counter is missing"},
		"half a counter":         {[]any{int64(1), int64(0), int64(0), "life", "1:1"}, errReply, "a counter is missing"},
		"no text":                {[]any{int64(1), int64(0), int64(0), "life", "1:1", nil}, errReply, "a field is a <nil>"},
		"a generation as number": {[]any{int64(1), int64(0), int64(0), int64(1), "1:1", ""}, errReply, "a field is a int64"},
		"no state":               {[]any{int64(0), int64(0), int64(0), "life", "x", ""}, ErrForeign, "field a:"},
		"no state of the second": {[]any{int64(0), int64(0), int64(0), "life", "1:1", "x"}, ErrForeign, "field b:"},
		"denied, though free":    {[]any{int64(0), int64(0), int64(0), "life", "1:1", ""}, errDisagree, ""},
		"charged, and nothing":   {[]any{int64(1), int64(0), int64(0), "life", "", ""}, errDisagree, ""},
	} {
		store := New(answering{test.reply}, Options{})
		hourly := limit.Limit{Capacity: 9, Window: time.Hour, Granularity: time.Hour}
		c := &limit.Charge{Key: "rule|a|s", Limits: []limit.Limit{hourly, hourly}, Costs: []int64{1, 0}}
		var v limit.Verdict
		if err := store.Charge(t.Context(), time.Now(), c, &v); !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// TestChargedIsProven checks that a reply which says charged admits nothing if
// its counter cannot be what the charge has left.
func TestChargedIsProven(t *testing.T) {
	const now = int64(1_000_000) // seconds
	window := limit.Limit{Capacity: 9, Window: time.Minute, Granularity: time.Second}
	fixed := limit.Limit{Algorithm: limit.FixedWindow, Capacity: 9, Window: time.Second, Granularity: time.Second}
	weighted := limit.Limit{Algorithm: limit.SlidingWindowCounter, Capacity: 9, Window: time.Second, Granularity: time.Second}
	log := limit.Limit{Algorithm: limit.SlidingWindowLog, Capacity: 9, Window: time.Minute, Granularity: limit.Exact}
	bucket := limit.Limit{Algorithm: limit.TokenBucket, Capacity: 60, Window: time.Minute, Burst: 9} // a unit in a second
	for name, test := range map[string]struct {
		limit      limit.Limit
		generation string
		text       string
		proven     bool
	}{
		"a window":                   {window, "x", "1000000:2", true},
		"full":                       {window, "x", "999940:7 1000000:2", true},
		"ahead of the clock":         {window, "x", "1000009:2", true},
		"older slots do not count":   {window, "x", "999939:9 1000000:9", true},
		"no life":                    {window, "", "1000000:2", false},
		"no slots":                   {window, "x", "", false},
		"less than the cost":         {window, "x", "1000000:1", false},
		"the cost in an older slot":  {window, "x", "999999:2", false},
		"more than the capacity":     {window, "x", "999940:8 1000000:2", false},
		"a fixed window":             {fixed, "x", "999999:9 1000000:9", true},
		"a fixed window too full":    {fixed, "x", "1000000:10", false},
		"weighted":                   {weighted, "x", "999999:9 1000000:9", true},
		"weighted, too full":         {weighted, "x", "1000000:10", false},
		"a log":                      {log, "x", "999950.000000000:7 1000000.000000000:2", true},
		"a log too full":             {log, "x", "999950.000000000:8 1000000.000000000:2", false},
		"a log of the past":          {log, "x", "999999.999999999:2", false},
		"a bucket":                   {bucket, "x", "1000002.000000000", true},
		"a full bucket":              {bucket, "x", "1000009.000000000", true},
		"a bucket charged with less": {bucket, "x", "1000001.999999999", false},
		"a bucket too full":          {bucket, "x", "1000009.000000001", false},
		"no bucket":                  {bucket, "x", "", false},
	} {
		c := &limit.Charge{Key: "rule|a|s", Limits: []limit.Limit{test.limit}, Costs: []int64{2}}
		store := New(answering{[]any{int64(1), now, int64(0), test.generation, test.text}}, Options{})
		var v limit.Verdict
		err := store.Charge(t.Context(), time.Now(), c, &v)
		if test.proven && (err != nil || !v.Allowed || v.Receipt.Generation != "x") || !test.proven && (!errors.Is(err, errDisagree) || v.Allowed) {
			t.Errorf("%s: %+v, %v", name, v.Result, err)
		}
		if err := store.Peek(t.Context(), time.Now(), c, &v); err == nil {
			t.Errorf("%s: a peek that charged", name)
		}
	}
	free := &limit.Charge{Key: "rule|b|s", Limits: []limit.Limit{window}, Costs: []int64{0}}
	store := New(answering{[]any{int64(1), now, int64(0), "x", "1000000:2", "", ""}}, Options{})
	paid := &limit.Charge{Key: "rule|a|s", Limits: []limit.Limit{window}, Costs: []int64{2}}
	if err := store.ChargeAll(t.Context(), time.Now(), []*limit.Charge{paid, free}, []*limit.Verdict{{}, {}}); err != nil {
		t.Errorf("with a charge of zero cost: %v", err)
	}
}

// answering is a client that gets the same reply to every command.
type answering struct{ reply []any }

func (a answering) Process(_ context.Context, cmd goredis.Cmder) error {
	cmd.(once).SetVal(a.reply)
	return nil
}

// FuzzReadState reads any text: it must be an error, or a state that never
// allows more than the units in the text leave room for.
func FuzzReadState(f *testing.F) {
	for _, text := range []string{
		"", "1:1", "1:1 2:3", "1.000000000:1", "1.000000000:1 1.000000001:2", "1.500000000", "-1:1", "1:9007199254740991 2:9007199254740991",
		"2:1 1:1", "1:-1", "+1:+1", "1:1 ", " ", ":", "1e9:1", "9223372036854775807:1", "9223372036.854775808",
	} {
		for kind := range byte(3) {
			f.Add(kind, text)
		}
	}
	limits := []limit.Limit{
		{Capacity: 9, Window: time.Minute, Granularity: time.Second},
		{Algorithm: limit.SlidingWindowLog, Capacity: 9, Window: time.Minute, Granularity: limit.Exact},
		{Algorithm: limit.TokenBucket, Capacity: 9, Window: time.Minute, Burst: 9},
	}
	f.Fuzz(func(t *testing.T, kind byte, text string) {
		l := &limits[int(kind)%len(limits)]
		s, err := readState(l, text)
		if err != nil {
			return
		}
		now := time.Unix(3, 0)
		got := s.Decide(l, now, 1)
		if got.Remaining < 0 || got.Remaining > l.MaxCost() || got.Reset < 0 || got.Allowed != (got.Remaining > 0) || !got.Allowed && got.RetryAfter <= 0 {
			t.Errorf("%q: %+v", text, got)
		}
		if newest, ok := s.Newest(); ok && !l.Bucket() && newest >= l.SlotAt(now)-l.Slots() {
			all := slices.Collect(s.All())
			last := all[len(all)-1]
			if got.Remaining > max(0, l.Capacity-last.Units) {
				t.Errorf("%q: %d left", text, got.Remaining)
			}
		}
	})
}

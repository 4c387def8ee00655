package redis

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/slidegate/slidegate/internal/limit"
)

// read is readState for tests.
func read(l *limit.Limit, state, older string) (s limit.State, sum bool, err error) {
	sum, err = readState(l, state, older, &s)
	return s, sum, err
}

var (
	perMinute = limit.Limit{Capacity: 9, Window: time.Minute, Granularity: time.Second}
	exactly   = limit.Limit{Algorithm: limit.SlidingWindowLog, Capacity: 9, Window: time.Minute, Granularity: limit.Exact}
	perDay    = limit.Limit{
		Algorithm: limit.FixedWindow, Capacity: 9, Window: 24 * time.Hour, Granularity: 24 * time.Hour,
		Calendar: &limit.Calendar{Unit: limit.Day, Location: time.UTC},
	}
	weighing = limit.Limit{Algorithm: limit.SlidingWindowCounter, Capacity: 9, Window: time.Second, Granularity: time.Second}
	tokens   = limit.Limit{Algorithm: limit.TokenBucket, Capacity: 60, Window: time.Minute, Burst: 9} // a unit in a second
)

func TestReadState(t *testing.T) {
	for name, test := range map[string]struct {
		limit        *limit.Limit
		state, older string
		want         []limit.Slot
		sum          bool
	}{
		"nothing":         {&perMinute, "", "", nil, false},
		"one slot":        {&perMinute, PackWindow(7, 0, 1, 0), "", []limit.Slot{{Number: 7, Units: 1}}, false},
		"a sum":           {&perMinute, PackWindow(7, 0, 1, 5), "", []limit.Slot{{Number: 6, Units: 5}, {Number: 7, Units: 1}}, true},
		"a sum of one":    {&weighing, PackWindow(7, 0, 1, 5), "", []limit.Slot{{Number: 6, Units: 5}, {Number: 7, Units: 1}}, false},
		"slots":           {&perMinute, PackWindow(0, 0, 4, 3), PackSlot(-2, 0, 0) + PackSlot(-1, 0, 3), []limit.Slot{{Number: -2}, {Number: -1, Units: 3}, {Number: 0, Units: 4}}, false},
		"many units":      {&perMinute, PackWindow(1, 0, mostUnits-1, 1), PackSlot(0, 0, 1), []limit.Slot{{Number: 0, Units: 1}, {Number: 1, Units: mostUnits - 1}}, false},
		"times":           {&exactly, PackWindow(0, 0, 2, 1), PackSlot(-1, 250_000_000, 1), []limit.Slot{{Number: -750_000_000, Units: 1}, {Number: 0, Units: 2}}, false},
		"a sum of a log":  {&exactly, PackWindow(1, 2, 3, 4), "", []limit.Slot{{Number: 1_000_000_001, Units: 4}, {Number: 1_000_000_002, Units: 3}}, true},
		"a calendar's":    {&perDay, PackWindow(19_000, 0, 3, 0), "", []limit.Slot{{Number: 19_000, Units: 3}}, false},
		"most slots ever": {&perMinute, PackWindow(2000, 0, 0, 1001), PackSlots(0, 1001), nil, false},
	} {
		s, sum, err := read(test.limit, test.state, test.older)
		got := slices.Collect(s.All())
		if err != nil || sum != test.sum || test.want != nil && !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, a sum %v, error %v; want %v", name, got, sum, err, test.want)
		}
	}
	for text, want := range map[string]int64{PackBucket(1, 2): 1_000_000_002, PackBucket(-2, 250_000_000): -1_750_000_000, PackBucket(9223372035, 999_999_999): 9223372035999999999} {
		s, _, err := read(&tokens, text, "")
		if full, ok := s.Full(); err != nil || !ok || full != want {
			t.Errorf("%x is %v, %v; want %v", text, full, err, want)
		}
	}
	if s, _, err := read(&tokens, "", ""); err != nil {
		t.Error(err)
	} else if _, ok := s.Full(); ok {
		t.Error("an empty text is a charged bucket")
	}
}

// TestReadNoState checks that fields are an error if the script does not write
// them so, if slots are out of order, or if they contradict their sum.
func TestReadNoState(t *testing.T) {
	one := PackWindow(1, 0, 1, 0)
	for name, test := range map[string]struct {
		limit        *limit.Limit
		state, older string
	}{
		"a byte more":               {&perMinute, one + " ", ""},
		"nanoseconds of a slot":     {&perMinute, PackWindow(1, 1, 1, 0), ""},
		"half a slot":               {&perMinute, PackWindow(1.5, 0, 1, 0), ""},
		"a slot too late":           {&perMinute, PackWindow(9223371975, 0, 1, 0), ""},
		"a slot too early":          {&perMinute, PackWindow(-9223371975, 0, 1, 0), ""},
		"a window too late":         {&perDay, PackWindow(110_001, 0, 1, 0), ""},
		"negative units":            {&perMinute, PackWindow(1, 0, -1, 0), ""},
		"units in parts":            {&perMinute, PackWindow(1, 0, 1.5, 0), ""},
		"too many units":            {&perMinute, PackWindow(1, 0, 1<<53, 0), ""},
		"too many together":         {&perMinute, PackWindow(1, 0, 1, mostUnits), ""},
		"less than nothing before":  {&perMinute, PackWindow(1, 0, 1, -1), ""},
		"a part before":             {&perMinute, PackWindow(1, 0, 1, 0.5), ""},
		"only older slots":          {&perMinute, "", PackSlot(1, 0, 1)},
		"part of an older slot":     {&perMinute, PackWindow(2, 0, 1, 1), PackSlot(1, 0, 1)[1:]},
		"the newest twice":          {&perMinute, PackWindow(1, 0, 1, 1), PackSlot(1, 0, 1)},
		"descending":                {&perMinute, PackWindow(3, 0, 1, 2), PackSlot(2, 0, 1) + PackSlot(1, 0, 1)},
		"more than the sum":         {&perMinute, PackWindow(3, 0, 1, 1), PackSlot(1, 0, 1) + PackSlot(2, 0, 1)},
		"less than the sum":         {&perMinute, PackWindow(3, 0, 1, 3), PackSlot(1, 0, 1) + PackSlot(2, 0, 1)},
		"negative, and in sum none": {&perMinute, PackWindow(3, 0, 1, 1), PackSlot(1, 0, 2) + PackSlot(2, 0, -1)},
		"too many slots":            {&perMinute, PackWindow(2000, 0, 1, 1002), PackSlots(0, 1002)},
		"a second of nanoseconds":   {&exactly, PackWindow(1, 1e9, 1, 0), ""},
		"a time too late":           {&exactly, PackWindow(9223371975, 1, 1, 0), ""},
		"a time too early":          {&exactly, PackWindow(-9223371976, 999_999_999, 1, 0), ""},
		"a window as a bucket":      {&tokens, one, ""},
		"a bucket with slots":       {&tokens, PackBucket(1, 0), PackSlot(1, 0, 1)},
		"a bucket too late":         {&tokens, PackBucket(9223372036, 0), ""},
		"a bucket too early":        {&tokens, PackBucket(-9223372036, 0), ""},
		"a bucket's nanoseconds":    {&tokens, PackBucket(1, 1e9), ""},
	} {
		if s, _, err := read(test.limit, test.state, test.older); err == nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// reply packs a reply: its head, and texts with the sizes of their lengths.
func reply(charged byte, seconds, nanos float64, counters ...string) string {
	return string(charged) + PackDouble(seconds) + PackDouble(nanos) + strings.Join(counters, "")
}

// packCounter packs a counter of a reply: its generation, and the fields of each
// limit.
func packCounter(generation string, fields ...string) string {
	text := string([]byte{byte(len(generation))}) + generation
	for i, field := range fields {
		size := binary.BigEndian.AppendUint32(nil, uint32(len(field)))
		if i%2 == 0 {
			size = size[3:]
		}
		text += string(size) + field
	}
	return text
}

// TestReadAnswer checks that a malformed reply is an error with the reason, and
// no admission.
func TestReadAnswer(t *testing.T) {
	one := PackWindow(1, 0, 1, 0)
	for name, test := range map[string]struct {
		reply string
		want  error
		text  string // of the error
	}{
		"nothing":                {"", errReply, "0 bytes"},
		"half a head":            {reply(1, 0, 0)[:16], errReply, "16 bytes"},
		"charged twice":          {reply(2, 0, 0, packCounter("life", one, "", "", "")), errReply, "begins with 2"},
		"no time":                {reply(1, math.NaN(), 0, packCounter("life", one, "", "", "")), errReply, "begins with 1"},
		"nanoseconds below 0":    {reply(1, 0, -1, packCounter("life", one, "", "", "")), errReply, "time 0.-1"},
		"a second of them":       {reply(1, 0, 1e9, packCounter("life", one, "", "", "")), errReply, "time 0.1000000000"},
		"parts of nanoseconds":   {reply(1, 0, 0.5, packCounter("life", one, "", "", "")), errReply, "begins with 1"},
		"a time out of range":    {reply(1, 1e12, 0, packCounter("life", one, "", "", "")), errReply, "time 1000000000000.0"},
		"no counter":             {reply(1, 0, 0), errReply, "ends in a counter"},
		"half a counter":         {reply(1, 0, 0, packCounter("life", one, "")), errReply, "ends in a counter"},
		"a length without text":  {reply(1, 0, 0, "\x05life"), errReply, "ends in a counter"},
		"half a length":          {reply(1, 0, 0, packCounter("life", one), "\x00\x00\x00"), errReply, "ends in a counter"},
		"no state":               {reply(0, 0, 0, packCounter("life", "x", "", "", "")), ErrForeign, "field a:"},
		"no state of the second": {reply(0, 0, 0, packCounter("life", one, "", "x", "")), ErrForeign, "field b:"},
		"denied by a sum":        {reply(0, 0, 0, packCounter("life", PackWindow(0, 0, 1, 9), "", "", "")), ErrForeign, "field a:"},
		"free by a sum":          {reply(1, 0, 0, packCounter("life", PackWindow(0, 0, 1, 0), "", PackWindow(0, 0, 1, 1), "")), ErrForeign, "field b:"},
		"denied, though free":    {reply(0, 0, 0, packCounter("life", one, "", "", "")), errDisagree, ""},
		"charged, and nothing":   {reply(1, 0, 0, packCounter("life", "", "", "", "")), errDisagree, ""},
	} {
		store := New(answering{test.reply}, Options{})
		c := &limit.Charge{Key: "rule|a|s", Limits: []limit.Limit{perMinute, perMinute}, Costs: []int64{1, 0}}
		var v limit.Verdict
		err := store.Charge(t.Context(), time.Now(), c, &v)
		if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		if test.reply != "" && test.reply[0] == 1 && errors.Is(err, limit.ErrGroup) {
			t.Errorf("%s: %v says that nothing was charged", name, err)
		}
	}
}

// TestChargedIsProven checks that a reply which says charged admits nothing if
// its counter cannot be what the charge has left.
func TestChargedIsProven(t *testing.T) {
	const now = 1_000_000 // seconds
	fixed := limit.Limit{Algorithm: limit.FixedWindow, Capacity: 9, Window: time.Second, Granularity: time.Second}
	for name, test := range map[string]struct {
		limit        limit.Limit
		generation   string
		state, older string
		proven       bool
	}{
		"a window":                   {perMinute, "x", PackWindow(now, 0, 2, 0), "", true},
		"full":                       {perMinute, "x", PackWindow(now, 0, 2, 7), PackSlot(now-60, 0, 7), true},
		"full, by the sum":           {perMinute, "x", PackWindow(now, 0, 2, 7), "", true},
		"ahead of the clock":         {perMinute, "x", PackWindow(now+9, 0, 2, 0), "", true},
		"older slots do not count":   {perMinute, "x", PackWindow(now, 0, 9, 9), PackSlot(now-61, 0, 9), true},
		"no life":                    {perMinute, "", PackWindow(now, 0, 2, 0), "", false},
		"no slots":                   {perMinute, "x", "", "", false},
		"less than the cost":         {perMinute, "x", PackWindow(now, 0, 1, 0), "", false},
		"the cost in an older slot":  {perMinute, "x", PackWindow(now-1, 0, 2, 0), "", false},
		"more than the capacity":     {perMinute, "x", PackWindow(now, 0, 2, 8), PackSlot(now-60, 0, 8), false},
		"more, by the sum":           {perMinute, "x", PackWindow(now, 0, 2, 8), "", false},
		"a fixed window":             {fixed, "x", PackWindow(now, 0, 9, 0), "", true},
		"a fixed window too full":    {fixed, "x", PackWindow(now, 0, 10, 0), "", false},
		"weighted":                   {weighing, "x", PackWindow(now, 0, 9, 9), "", true},
		"weighted, too full":         {weighing, "x", PackWindow(now, 0, 10, 0), "", false},
		"a log":                      {exactly, "x", PackWindow(now, 0, 2, 7), PackSlot(now-50, 0, 7), true},
		"a log too full":             {exactly, "x", PackWindow(now, 0, 2, 8), PackSlot(now-50, 0, 8), false},
		"a log of the past":          {exactly, "x", PackWindow(now-1, 999_999_999, 2, 0), "", false},
		"a bucket":                   {tokens, "x", PackBucket(now+2, 0), "", true},
		"a full bucket":              {tokens, "x", PackBucket(now+9, 0), "", true},
		"a bucket charged with less": {tokens, "x", PackBucket(now+1, 999_999_999), "", false},
		"a bucket too full":          {tokens, "x", PackBucket(now+9, 1), "", false},
		"no bucket":                  {tokens, "x", "", "", false},
	} {
		c := &limit.Charge{Key: "rule|a|s", Limits: []limit.Limit{test.limit}, Costs: []int64{2}}
		store := New(answering{reply(1, now, 0, packCounter(test.generation, test.state, test.older))}, Options{})
		var v limit.Verdict
		err := store.Charge(t.Context(), time.Now(), c, &v)
		if test.proven && (err != nil || !v.Allowed || v.Receipt.Generation != "x") || !test.proven && (!errors.Is(err, errDisagree) || v.Allowed) {
			t.Errorf("%s: %+v, %v", name, v.Result, err)
		}
		if err := store.Peek(t.Context(), time.Now(), c, &v); err == nil {
			t.Errorf("%s: a peek that charged", name)
		}
	}
	free := &limit.Charge{Key: "rule|b|s", Limits: []limit.Limit{perMinute}, Costs: []int64{0}}
	store := New(answering{reply(1, now, 0, packCounter("x", PackWindow(now, 0, 2, 0), ""), packCounter("", "", ""))}, Options{})
	paid := &limit.Charge{Key: "rule|a|s", Limits: []limit.Limit{perMinute}, Costs: []int64{2}}
	if err := store.ChargeAll(t.Context(), time.Now(), []*limit.Charge{paid, free}, []*limit.Verdict{{}, {}}); err != nil {
		t.Errorf("with a charge of zero cost: %v", err)
	}
}

// TestHoldIsProven checks that a reply which says what became of a hold admits
// nothing unless the holds say so too.
func TestHoldIsProven(t *testing.T) {
	const now = 1_000_000 // seconds
	places := limit.Limit{Algorithm: limit.InFlight, Capacity: 2, Window: 90 * time.Second}
	windows, both := []limit.Limit{perMinute}, []limit.Limit{perMinute, places}
	end := func(after float64) float64 { return (now + after) * 1000 }
	opened, before := end(0), end(-99)
	one, two := PackHold(7, end(90), opened, now, 3), PackHold(7, end(90), opened, now, 3, 0, 1)
	for name, test := range map[string]struct {
		limits      []limit.Limit
		units       float64
		word, holds string
		want        error
	}{
		"opened":                            {windows, 3, "opened", one, nil},
		"opened beside another":             {windows, 3, "opened", PackHold(8, end(80), before, now, 3) + one, nil},
		"opened beside many that ended":     {windows, 3, "opened", PackHold(8, end(-9), before, now, 3) + PackHold(9, end(-3), before, now, 3) + one, nil},
		"opened, and none is there":         {windows, 3, "opened", "", errDisagree},
		"opened, and another is there":      {windows, 3, "opened", PackHold(8, end(90), before, now, 3), errDisagree},
		"opened with another end":           {windows, 3, "opened", PackHold(7, end(91), opened, now, 3), errDisagree},
		"opened with other units":           {windows, 3, "opened", PackHold(7, end(90), opened, now, 4), errDisagree},
		"opened at another time":            {windows, 3, "opened", PackHold(7, end(90), opened-1, now, 3), errDisagree},
		"opened in another slot":            {windows, 3, "opened", PackHold(7, end(90), opened, now-1, 3), errDisagree},
		"opened, and nothing was charged":   {windows, 2, "opened", one, errDisagree},
		"opened, and too many are there":    {windows, 3, "opened", PackHold(8, end(80), before, now, 3) + PackHold(9, end(80), before, now, 3) + one, errDisagree},
		"a place":                           {both, 3, "opened", two, nil},
		"no place left":                     {both, 3, "opened", PackHold(8, end(80), before, now, 3, 0, 1) + PackHold(9, end(80), before, now, 3, 0, 1) + two, errDisagree},
		"charged without a place":           {both, 3, "", PackHold(8, end(80), before, now, 3, 0, 1) + PackHold(9, end(80), before, now, 3, 0, 1), errDisagree},
		"a window in place of a place":      {[]limit.Limit{places, perMinute}, 3, "opened", PackHold(7, end(90), opened, 0, 1, now, 3), ErrForeign},
		"full":                              {windows, 3, "", PackHold(8, end(80), before, now, 3) + PackHold(9, end(80), before, now, 3), nil},
		"full, beside its own that is over": {windows, 3, "", PackHold(7, end(-1), before, now, 3) + PackHold(9, end(80), before, now, 3), nil},
		"full, though its own is open":      {windows, 3, "", PackHold(7, end(1), before, now, 3) + PackHold(9, end(80), before, now, 3), errDisagree},
		"not opened, though there is room":  {windows, 3, "", PackHold(8, end(80), before, now, 3), errDisagree},
		"made before":                       {windows, 1, "before", PackHold(7, end(1), before, now-9, 1), nil},
		"made before, and none is there":    {windows, 3, "before", "", errDisagree},
		"made before, and over":             {windows, 3, "before", PackHold(7, end(0), before, now-9, 3), errDisagree},
		"part of a hold":                    {windows, 3, "opened", one[1:], ErrForeign},
		"a hold without an ID":              {windows, 3, "opened", PackHold(0, end(80), before, now, 3) + one, ErrForeign},
		"holds out of order":                {windows, 3, "opened", one + PackHold(8, end(80), before, now, 3), ErrForeign},
		"part of a millisecond":             {windows, 3, "opened", PackHold(8, end(80)+0.5, before, now, 3) + one, ErrForeign},
		"an end too late":                   {windows, 3, "opened", one + PackHold(8, 9223372032001, before, now, 3), ErrForeign},
		"an end too early":                  {windows, 3, "opened", PackHold(8, -9223372032001, -9223372032001, now, 3) + one, ErrForeign},
		"opened in part of a millisecond":   {windows, 3, "opened", PackHold(8, end(80), before+0.5, now, 3) + one, ErrForeign},
		"opened after its end":              {windows, 3, "opened", PackHold(8, end(80), end(80)+1, now, 3) + one, ErrForeign},
		"part of a slot":                    {windows, 3, "opened", PackHold(8, end(80), before, 0.5, 3) + one, ErrForeign},
		"part of a unit":                    {windows, 3, "opened", PackHold(8, end(80), before, now, 0.5) + one, ErrForeign},
		"fewer than no units":               {windows, 3, "opened", PackHold(8, end(80), before, now, -1) + one, ErrForeign},
		"more than a counter has":           {windows, 3, "opened", strings.Repeat(PackHold(8, end(-9), before, now, 3), limit.MaxHolds) + one, ErrForeign},
	} {
		fields := []string{PackWindow(now, 0, test.units, 0), ""}
		c := &limit.Charge{Key: "rule|a|s", Limits: test.limits, Costs: []int64{3}, Hold: limit.Opening{ID: 7, For: 90 * time.Second, Most: 2}}
		if len(test.limits) == 2 {
			c.Costs = []int64{3, 1}
			if fields = append(fields, "", ""); test.limits[0].Algorithm == limit.InFlight {
				c.Costs = []int64{1, 3}
			}
		}
		store := New(answering{reply(1, now, 0, packCounter("x", append(fields, test.word, test.holds)...))}, Options{})
		var v limit.Verdict
		err := store.Charge(t.Context(), time.Unix(int64(now), 0), c, &v)
		if !errors.Is(err, test.want) || v.Allowed != (test.want == nil) {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
		if now := test.word == "opened"; err == nil && (v.ByHolds != (test.word == "") || (v.Receipt.Hold == 7) != (test.word != "") || now && (v.Receipt.Until != int64(end(90)) || v.Receipt.Opened != int64(opened))) {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// TestHoldContradicts: a charge that opens no hold was not made before, one made
// before is answered by all slots, and a hold is of a counter with a generation.
func TestHoldContradicts(t *testing.T) {
	const now = 1_000_000 // seconds
	places := limit.Limit{Algorithm: limit.InFlight, Capacity: 2, Window: 90 * time.Second}
	hold := func(units float64) string { return PackHold(7, (now+90)*1000, now*1000, now, units, 0, 0) }
	for name, test := range map[string]struct {
		generation, word, holds string
		units, before           float64
		id                      uint64
		cost, place             int64
	}{
		"no hold, made before":  {"x", "before", hold(3), 1, 0, 0, 3, 0},
		"no place, made before": {"x", "before", hold(3), 3, 0, 7, 3, 0},
		"a sum of slots":        {"x", "before", hold(3), 3, 1, 7, 3, 1},
		"no generation":         {"", "opened", hold(0), 0, 0, 7, 0, 0},
	} {
		limits := []limit.Limit{perMinute, places}
		c := &limit.Charge{Key: "rule|a|s", Limits: limits, Costs: []int64{test.cost, test.place}, Hold: limit.Opening{ID: test.id, For: 90 * time.Second}}
		if test.generation == "" {
			c.Limits[1], c.Hold.Most = perMinute, 2
			test.holds = PackHold(7, (now+90)*1000, now*1000, now, 0, now, 0)
		}
		store := New(answering{reply(1, now, 0, packCounter(test.generation, PackWindow(now, 0, test.units, test.before), "", "", "", test.word, test.holds))}, Options{})
		var v limit.Verdict
		if err := store.Charge(t.Context(), time.Now(), c, &v); !errors.Is(err, errDisagree) || v.Allowed {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

// answering is a client that gets the same reply to every command.
type answering struct{ reply string }

func (a answering) Process(_ context.Context, cmd goredis.Cmder) error {
	cmd.(once).SetVal(a.reply)
	return nil
}

// FuzzReadState reads any fields: they must be an error, or a state that never
// allows more than their units leave room for.
func FuzzReadState(f *testing.F) {
	for _, state := range []string{
		"", PackWindow(1, 0, 1, 0), PackWindow(3, 0, 1, 2), PackWindow(1, 1, 1, 1), PackWindow(-1, 0, 1, 0), PackWindow(2, 0, mostUnits, 1),
		PackBucket(1, 500_000_000), PackBucket(9223372036, 854775808), PackWindow(math.NaN(), 0, 1, 0), PackWindow(9e18, 0, 1, 0),
	} {
		for kind := range byte(3) {
			for _, older := range []string{"", PackSlot(1, 0, 2), PackSlot(1, 0, 1) + PackSlot(2, 0, 1), PackSlot(2, 0, -1)} {
				f.Add(kind, state, older)
			}
		}
	}
	limits := []*limit.Limit{&perMinute, &exactly, &tokens}
	f.Fuzz(func(t *testing.T, kind byte, state, older string) {
		l := limits[int(kind)%len(limits)]
		s, _, err := read(l, state, older)
		if err != nil {
			return
		}
		now := time.Unix(3, 0)
		got := s.Decide(l, now, 1)
		if got.Remaining < 0 || got.Remaining > l.MaxCost() || got.Reset < 0 || got.Allowed != (got.Remaining > 0) || !got.Allowed && got.RetryAfter <= 0 {
			t.Errorf("%x, %x: %+v", state, older, got)
		}
		if newest, ok := s.Newest(); ok && !l.Bucket() && newest >= l.SlotAt(now)-l.Slots() {
			all := slices.Collect(s.All())
			last := all[len(all)-1]
			if got.Remaining > max(0, l.Capacity-last.Units) {
				t.Errorf("%x, %x: %d left", state, older, got.Remaining)
			}
		}
	})
}

// PackDouble packs a number as the script does.
func PackDouble(n float64) string {
	return string(binary.BigEndian.AppendUint64(nil, math.Float64bits(n)))
}

// PackSlot packs a slot before the newest of a window, or a time in a log.
func PackSlot(at float64, nanos uint32, units float64) string {
	return PackBucket(at, nanos) + PackDouble(units)
}

// PackWindow packs the field of a window or a log: the newest slot, and the units
// of the slots before it.
func PackWindow(at float64, nanos uint32, units, before float64) string {
	return PackSlot(at, nanos, units) + PackDouble(before)
}

// PackBucket packs when a bucket is full again.
func PackBucket(seconds float64, nanos uint32) string {
	return PackDouble(seconds) + string(binary.BigEndian.AppendUint32(nil, nanos))
}

// PackHold packs the record of a hold: its end and when it was opened in Unix
// milliseconds, and the slot and the units of each limit.
func PackHold(id uint64, end, opened float64, took ...float64) string {
	text := string(binary.BigEndian.AppendUint64(nil, id)) + PackDouble(end) + PackDouble(opened)
	for _, n := range took {
		text += PackDouble(n)
	}
	return text
}

// PackSlots packs n slots of one unit each, from a number on.
func PackSlots(from float64, n int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString(PackSlot(from+float64(i), 0, 1))
	}
	return text.String()
}

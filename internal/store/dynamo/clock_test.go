package dynamo

import (
	"slices"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/kit/clock"
)

const (
	second = time.Second
	ms     = time.Millisecond
)

var start = time.Unix(1_700_000_000, 0)

// TestClock is a table of answers: the local time when each request was sent
// and its answer received, the server's time, and the offset afterwards. The
// Date is the server's time without the fraction. The monotonic clock agrees
// with the local one.
func TestClock(t *testing.T) {
	type answer struct {
		sent, received, server time.Duration
		offset                 time.Duration
		confirmed              bool
	}
	for name, trace := range map[string][]answer{
		"a correct clock is never changed": {
			{0, 5 * ms, 2 * ms, 0, true},
			{990 * ms, 1010 * ms, 999 * ms, 0, true},
			{1990 * ms, 2010 * ms, 2001 * ms, 0, true},
		},
		"900 ms ahead: dates at the right moments show it": {
			{5950 * ms, 5960 * ms, 5055 * ms, 0, true},         // [-0.96, 0.05]
			{6800 * ms, 6810 * ms, 5905 * ms, -880 * ms, true}, // [-0.96, -0.8]: its middle
			{7890 * ms, 7900 * ms, 6995 * ms, -890 * ms, true}, // [-0.96, -0.89]: -0.88 is outside
		},
		"ten seconds ahead: two answers running mend it": {
			{10 * second, 10*second + 20*ms, 500 * ms, 0, false},
			{11 * second, 11*second + 20*ms, 1500 * ms, -9510 * ms, true},
			{12 * second, 12*second + 20*ms, 2500 * ms, -9510 * ms, true},
		},
		"one odd answer alone changes nothing": {
			{0, 20 * ms, 10 * ms, 0, true},
			{second, 1020 * ms, 50 * second, 0, false},
			{2 * second, 2020 * ms, 2010 * ms, 0, true},
			{3 * second, 3020 * ms, 50 * second, 0, false},
		},
		"an odd answer at first changes nothing": {
			{0, 20 * ms, 50 * second, 0, false},
			{second, 1020 * ms, 1010 * ms, 0, false},
			{2 * second, 2020 * ms, 2010 * ms, 0, true},
		},
		"mended, it takes two contradictions again": {
			{10 * second, 10 * second, 500 * ms, 0, false},
			{11 * second, 11 * second, 1500 * ms, -9500 * ms, true},
			{12 * second, 12 * second, 50 * second, -9500 * ms, false},
			{13 * second, 13 * second, 51 * second, 38 * second, true},
		},
		"two odd answers that contradict each other change nothing": {
			{0, 20 * ms, 10 * ms, 0, true},
			{second, 1020 * ms, 50 * second, 0, false},
			{2 * second, 2020 * ms, 90 * second, 0, false},
			{3 * second, 3020 * ms, 3010 * ms, 0, true},
		},
		"a process frozen while it waited keeps its offset": {
			{0, time.Hour, 30 * time.Minute, 0, true},
			{time.Hour, 2 * time.Hour, time.Hour, 0, true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			for i, a := range trace {
				m.set(a.received, a.received)
				m.clock.Observe(reading(a.sent, a.sent), start.Add(a.server).Truncate(second))
				if got := m.clock.Now().Sub(m.at.Wall).Round(ms); got != a.offset || m.clock.Confirmed() != a.confirmed {
					t.Errorf("answer %d: offset %v, confirmed %v; want %v, %v", i, got, m.clock.Confirmed(), a.offset, a.confirmed)
				}
			}
		})
	}
}

// TestSteps is a table of moments: the wall clock, the monotonic clock and
// DynamoDB's, whether an answer arrives, the corrected time, and the steps that
// the clock reports.
func TestSteps(t *testing.T) {
	type moment struct {
		wall, mono, server time.Duration
		answer             bool
		want               time.Duration
		steps              []clock.Step
	}
	hour := time.Hour
	for name, trace := range map[string][]moment{
		"set back by an hour: the time goes on": {
			{500 * ms, 500 * ms, 500 * ms, true, 500 * ms, nil},
			{second - hour, second, second, false, second, []clock.Step{{By: -hour}}},
			{1500*ms - hour, 1500 * ms, 1500 * ms, true, 1500 * ms, nil},
			{2500*ms - hour, 2500 * ms, 2500 * ms, true, 2500 * ms, nil},
		},
		"set back after two answers: the next one agrees": {
			{500 * ms, 500 * ms, 500 * ms, true, 500 * ms, nil},
			{1500 * ms, 1500 * ms, 1500 * ms, true, 1500 * ms, nil},
			{2500*ms - hour, 2500 * ms, 2500 * ms, true, 2500 * ms, []clock.Step{{By: -hour}}},
		},
		"set forward by an hour: two answers correct it": {
			{500 * ms, 500 * ms, 500 * ms, true, 500 * ms, nil},
			{second + hour, second, second, false, second + hour, nil},
			{1500*ms + hour, 1500 * ms, 1500 * ms, true, 1500*ms + hour, nil},
			{2500*ms + hour, 2500 * ms, 2500 * ms, true, 2500 * ms, []clock.Step{{By: -hour, Corrected: true}}},
		},
		"set forward and back without an answer: the time goes on, until answers correct it": {
			{second + hour, second, second, false, second + hour, nil},
			{2 * second, 2 * second, 2 * second, false, 2*second + hour, []clock.Step{{By: -hour}}},
			{2500 * ms, 2500 * ms, 2500 * ms, true, 2500*ms + hour, nil},
			{3500 * ms, 3500 * ms, 3500 * ms, true, 4 * second, []clock.Step{{By: 500*ms - hour, Corrected: true}}},
		},
		"frozen between requests: the wall clock decides": {
			{500 * ms, 500 * ms, 500 * ms, true, 500 * ms, nil},
			{hour, second, hour, false, hour, nil},
			{hour + 500*ms, 1500 * ms, hour + 500*ms, true, hour + 500*ms, nil},
			{2*hour + 500*ms, 2 * second, 2*hour + 500*ms, true, 2*hour + 500*ms, nil},
		},
		"thawed with a wrong clock": {
			{500 * ms, 500 * ms, 500 * ms, true, 500 * ms, nil},
			{40*second + 500*ms, second, hour + 500*ms, true, 40*second + 500*ms, nil},
			{41*second + 500*ms, 2 * second, hour + second + 500*ms, true, hour + 1500*ms, []clock.Step{{By: hour - 40*second, Corrected: true}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			for i, a := range trace {
				m.set(a.wall, a.mono)
				if a.answer {
					m.clock.Observe(m.at, start.Add(a.server).Truncate(second))
				}
				if got := m.clock.Now().Sub(start); got != a.want {
					t.Errorf("moment %d: the time is %v, want %v", i, got, a.want)
				}
				if !slices.Equal(m.steps, a.steps) {
					t.Errorf("moment %d: reported %v, want %v", i, m.steps, a.steps)
				}
			}
		})
	}
}

// TestSmallSteps: steps that answers have corrected do not add up to one that is
// noticed, and neither does the drift between the machine's two clocks.
func TestSmallSteps(t *testing.T) {
	for name, wallAt := range map[string]func(at time.Duration) time.Duration{
		"set back by 0.6 s every minute": func(at time.Duration) time.Duration { return at - time.Duration(at/time.Minute)*600*ms },
		"drifts by 0.1 ms a second":      func(at time.Duration) time.Duration { return at - at/10_000 },
	} {
		m, worst := newMachine(), time.Duration(0)
		for at := time.Duration(0); at < 6*time.Hour; at += 130 * ms {
			m.set(wallAt(at), at)
			m.clock.Observe(m.at, start.Add(at).Truncate(second))
			worst = max(worst, m.clock.Now().Sub(start.Add(at)).Abs())
			if slices.ContainsFunc(m.steps, func(s clock.Step) bool { return !s.Corrected }) {
				t.Fatalf("%s: after %v, reported %v", name, at, m.steps)
			}
		}
		if worst > 620*ms {
			t.Errorf("%s: %v wrong", name, worst)
		}
	}
}

// TestUnderWay sets the wall clock back, or freezes the process for an hour, while
// a request is under way: for 10 ms by the monotonic clock. Its answer contradicts
// nothing.
func TestUnderWay(t *testing.T) {
	for name, test := range map[string]struct{ wall, want time.Duration }{"set back": {1010*ms - time.Hour, 1010 * ms}, "frozen": {time.Hour, time.Hour}} {
		m := newMachine()
		sent := m.set(second, second)
		m.set(test.wall, 1010*ms)
		for range 2 {
			m.clock.Observe(sent, start.Add(second))
			if got := m.clock.Now().Sub(start); got != test.want || !m.clock.Confirmed() {
				t.Errorf("%s: the time is %v, confirmed %v; want %v", name, got, m.clock.Confirmed(), test.want)
			}
		}
	}
}

// machine has clocks that a test sets, and the clock to be tested.
type machine struct {
	at    clock.Reading
	clock *Clock
	steps []clock.Step // since the clocks were set
}

func newMachine() *machine {
	m := &machine{at: reading(0, 0)}
	m.clock = NewClock(func() clock.Reading { return m.at })
	m.clock.OnStep(func(s clock.Step) { m.steps = append(m.steps, s) })
	return m
}

// set sets the wall clock and the monotonic clock, since the start.
func (m *machine) set(wall, mono time.Duration) clock.Reading {
	m.at, m.steps = reading(wall, mono), nil
	return m.at
}

func reading(wall, mono time.Duration) clock.Reading {
	return clock.Reading{Wall: start.Add(wall), Mono: mono}
}

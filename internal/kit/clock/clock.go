// Package clock tells the time of a process whose machine's clock may be set.
//
// A machine has two clocks. The wall clock says what time it is, and steps when
// an operator or NTP sets it. The monotonic clock never steps, but it stands still
// while the process is frozen, as a Lambda is between two requests.
package clock

import (
	"sync"
	"time"
)

// Noticeable is the least step of the wall clock that counts as one. A process
// reads its two clocks one after the other, and may be paused for a few
// milliseconds in between.
const Noticeable = time.Second

// Reading is one moment by both clocks of a machine.
type Reading struct {
	Wall time.Time
	Mono time.Duration // since the process began to read its clocks
}

// Ahead returns how much further the wall clock has moved than the monotonic
// clock since an earlier reading. It is the sum of all steps, and of the times
// for which the process was frozen.
func (r Reading) Ahead(earlier Reading) time.Duration {
	return r.Wall.Sub(earlier.Wall) - (r.Mono - earlier.Mono)
}

// Source reads both clocks of a machine.
type Source func() Reading

// Machine returns the source behind time.Now, which is passed as an argument.
func Machine(now func() time.Time) Source {
	start := now()
	return func() Reading {
		t := now()
		return Reading{Wall: t.Round(0), Mono: t.Sub(start)}
	}
}

// Step is a change of a clock that the passing of time does not explain.
type Step struct {
	// By is positive for a clock that was moved forward.
	By time.Duration
	// Corrected reports that the answers of a store have moved the clock of
	// decisions. Otherwise the machine's wall clock was set, and the clock of
	// decisions goes on as before.
	Corrected bool
}

// Process is the clock of counters in one process: the wall clock at its start
// plus monotonic time. A step of the wall clock therefore neither empties a
// window nor closes it.
//
// Trade-off: while the machine sleeps, the clock stands still. Windows then end
// that much later, and times of day are late until the process is started
// again. A Lambda, which is frozen after every request, needs another clock.
//
// A Process is safe for concurrent use.
type Process struct {
	machine Source
	start   Reading
	notice  func(Step)

	mu    sync.Mutex    // the readings of concurrent callers must not overtake
	ahead time.Duration // of the start, at the last step
}

// NewProcess returns a clock that starts now. It reports steps of the wall
// clock to notice, each once.
func NewProcess(machine Source, notice func(Step)) *Process {
	return &Process{machine: machine, start: machine(), notice: notice}
}

// Now returns the time.
func (p *Process) Now() time.Time {
	p.mu.Lock()
	r := p.machine()
	by := r.Ahead(p.start) - p.ahead
	stepped := by.Abs() >= Noticeable
	if stepped {
		p.ahead += by
	}
	p.mu.Unlock()
	if stepped {
		p.notice(Step{By: by})
	}
	return p.start.Wall.Add(r.Mono - p.start.Mono)
}

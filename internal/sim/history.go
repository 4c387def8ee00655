package sim

import (
	"fmt"
	"strings"
	"time"
)

// happening is something that happened to a counter.
type happening struct {
	at          int64
	environment int
	what        string
	charging    charging
}

// history keeps the latest happenings of a counter.
type history struct {
	latest [48]happening
	n      int
}

func (h *history) add(e happening) {
	h.latest[h.n%len(h.latest)] = e
	h.n++
}

// String lists them, oldest first.
func (h *history) String() string {
	var b strings.Builder
	for i := max(0, h.n-len(h.latest)); i < h.n; i++ {
		fmt.Fprintln(&b, "   ", &h.latest[i%len(h.latest)])
	}
	return b.String()
}

// String formats one happening: when, by true time since the world began, where
// and what.
func (e *happening) String() string {
	text := fmt.Sprintf("%12.6f s  %-11s", time.Duration(e.at-epoch).Seconds(), e.what)
	if e.environment != 0 {
		text += fmt.Sprintf(" by %d", e.environment)
	}
	c := &e.charging
	if c.limit == nil {
		return text
	}
	text += fmt.Sprintf(", limit %q, cost %d, capacity %d, slot %d, asked at %.6f s by a clock %v wrong", c.limit.Name, c.cost,
		c.limit.Capacity, c.slot, time.Duration(c.born-epoch).Seconds(), time.Duration(c.now.UnixNano()-c.born))
	if !c.admitted {
		text += ", not admitted"
	}
	return text
}

package main

import (
	"fmt"
	"io"
	"time"

	"github.com/slidegate/slidegate/internal/replay"
)

// progressEvery is how often the line on the terminal changes.
const progressEvery = 100 * time.Millisecond

// progress shows how far a replay has come on one line of a terminal. Where nobody looks it shows nothing.
type progress struct {
	w    io.Writer // nil where nobody looks
	now  func() time.Time
	next time.Time
	dirt bool // something is on the line
}

func (c *cli) newProgress(now func() time.Time) *progress {
	p := &progress{now: now}
	if isTerminal(c.stderr) {
		p.w = c.stderr
	}
	return p
}

func (p *progress) show(at replay.Progress) {
	if p.w == nil {
		return
	}
	now := p.now()
	if now.Before(p.next) {
		return
	}
	p.next, p.dirt = now.Add(progressEvery), true
	done := ""
	if at.Size > 0 {
		done = fmt.Sprintf("%3d%%  ", 100*at.Read/at.Size)
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s%s requests  %s", done, thousands(at.Requests), at.At.UTC().Format("2006-01-02 15:04:05"))
}

// clear takes the line away.
func (p *progress) clear() {
	if p.dirt {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.dirt = false
	}
}

package main

import (
	"fmt"
	"io"
	"time"

	"github.com/slidegate/slidegate/internal/replay"
)

// progressEvery is how often the line on the terminal changes.
const progressEvery = 100 * time.Millisecond

// progress shows how far something has come on one line of a terminal. Where nobody looks it shows nothing.
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
	p.paint(func() string {
		done := ""
		if at.Size > 0 {
			done = fmt.Sprintf("%3d%%  ", 100*at.Read/at.Size)
		}
		return fmt.Sprintf("%s%s requests  %s", done, thousands(at.Requests), at.At.UTC().Format("2006-01-02 15:04:05"))
	})
}

// count shows how many things are done, of all where that is known.
func (p *progress) count(done, all int, what string) {
	p.paint(func() string {
		if all == 0 {
			return fmt.Sprintf("%s %s", thousands(int64(done)), what)
		}
		return fmt.Sprintf("%3d%%  %s %s", 100*done/all, thousands(int64(done)), what)
	})
}

// paint changes the line, unless it has just been changed.
func (p *progress) paint(text func() string) {
	if p.w == nil {
		return
	}
	if now := p.now(); !now.Before(p.next) {
		p.next, p.dirt = now.Add(progressEvery), true
		fmt.Fprint(p.w, "\r\x1b[K"+text())
	}
}

// clear takes the line away.
func (p *progress) clear() {
	if p.dirt {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.dirt = false
	}
}

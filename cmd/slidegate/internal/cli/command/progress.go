package command

import (
	"fmt"
	"io"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
)

// progressEvery is how often the line on the terminal changes, at most.
const progressEvery = 100 * time.Millisecond

// Progress shows on one line of a terminal how much is done. It shows nothing
// where there is no terminal.
type Progress struct {
	w    io.Writer // nil without a terminal
	now  func() time.Time
	next time.Time
	dirt bool // something is on the line
}

// NewProgress returns progress by this clock on w, if w is a terminal.
func NewProgress(w io.Writer, now func() time.Time) *Progress {
	p := &Progress{now: now}
	if IsTerminal(w) {
		p.w = w
	}
	return p
}

// Log shows how many requests of a log are done and at what moment of the log,
// and what share of them, or of the log's bytes if their number is not known.
func (p *Progress) Log(at logs.Progress) {
	p.paint(func() string {
		share, pass := "", ""
		if at.Pass != "" {
			pass = "  " + at.Pass
		}
		if at.Size > 0 {
			share = fmt.Sprintf("%3d%%  ", 100*at.Read/at.Size)
		}
		return fmt.Sprintf("%s%s  %s", share, text.Plural(at.Requests, "request"), at.At.UTC().Format("2006-01-02 15:04:05")) + pass
	})
}

// Count shows how many things are done. A total of 0 is not known.
func (p *Progress) Count(done, total int, things string) {
	p.paint(func() string {
		if total == 0 {
			return text.Thousands(done) + " " + things
		}
		return fmt.Sprintf("%3d%%  %s %s", 100*done/total, text.Thousands(done), things)
	})
}

// paint changes the line, unless it has just been changed.
func (p *Progress) paint(line func() string) {
	if p.w == nil {
		return
	}
	if now := p.now(); !now.Before(p.next) {
		p.next, p.dirt = now.Add(progressEvery), true
		fmt.Fprint(p.w, "\r\x1b[K"+line())
	}
}

// Clear removes the line.
func (p *Progress) Clear() {
	if p.dirt {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.dirt = false
	}
}

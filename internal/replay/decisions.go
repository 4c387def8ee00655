package replay

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/limit"
)

// decisionWriter writes a line for each request and rule that covers and limits it, of a denied request the denying rule's
// alone: Unix nanoseconds, rule, key, 1 or 0, remaining, and retry-after in nanoseconds (0 where allowed, -1 for never), with
// tabs between them. The line of a rule on trial follows those of the others and is its own verdict. Rules and keys are
// printable ASCII.
type decisionWriter struct {
	out  *bufio.Writer // nil to write nothing
	line []byte
}

func newDecisionWriter(w io.Writer) decisionWriter {
	if w == nil {
		return decisionWriter{}
	}
	return decisionWriter{out: bufio.NewWriterSize(w, 64<<10)}
}

func (w *decisionWriter) write(e *Entry, d *engine.Decision) error {
	if w.out == nil {
		return nil
	}
	w.line = w.line[:0]
	for i := range d.Verdicts {
		w.line = appendDecision(w.line, e, &d.Verdicts[i])
	}
	for i := range d.Shadows {
		w.line = appendDecision(w.line, e, &d.Shadows[i])
	}
	_, err := w.out.Write(w.line)
	return unwritten(err)
}

func appendDecision(b []byte, e *Entry, v *engine.Verdict) []byte {
	b = strconv.AppendInt(b, e.Time.UnixNano(), 10)
	b = append(append(b, '\t'), v.Rule.Name...)
	b = append(append(b, '\t'), v.Key...)
	if v.Allowed {
		b = append(b, "\t1\t"...)
	} else {
		b = append(b, "\t0\t"...)
	}
	b = strconv.AppendInt(b, v.Remaining, 10)
	b = strconv.AppendInt(append(b, '\t'), int64(retryAfter(v)), 10)
	return append(b, '\n')
}

// retryAfter returns when to retry: never, if an override denies the key.
func retryAfter(v *engine.Verdict) time.Duration {
	if v.Terms.Denied {
		return limit.Never
	}
	return v.RetryAfter
}

func (w *decisionWriter) flush() error {
	if w.out == nil {
		return nil
	}
	return unwritten(w.out.Flush())
}

func unwritten(err error) error {
	if err != nil {
		return fmt.Errorf("writing decisions: %w", err)
	}
	return nil
}

package replay

import (
	"strconv"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/limit"
)

// write writes a line for each rule that covers and limits a request. A denied
// request has a line for the denying rule alone. The columns are Unix
// nanoseconds, rule, key, 1 (allowed) or 0, remaining, and retry-after in
// nanoseconds (0 if allowed, -1 for never), with tabs between them. Shadow rules
// have their own verdicts, and come last. Rules and keys are printable ASCII.
func (r *run) write(e *Entry, d *engine.Decision) error {
	if r.decisions == nil {
		return nil
	}
	r.line = r.line[:0]
	for i := range d.Verdicts {
		r.line = appendDecision(r.line, e, &d.Verdicts[i])
	}
	for i := range d.Shadows {
		r.line = appendDecision(r.line, e, &d.Shadows[i])
	}
	_, err := r.decisions.Write(r.line)
	return writeError(err)
}

func appendDecision(b []byte, e *Entry, v *engine.Verdict) []byte {
	retryAfter, allowed := v.RetryAfter, "0"
	if v.Terms.Denied { // by an override, for good
		retryAfter = limit.Never
	}
	if v.Allowed {
		allowed = "1"
	}
	b = strconv.AppendInt(b, e.Time.UnixNano(), 10)
	for _, field := range []string{v.Rule.Name, v.Key, allowed} {
		b = append(append(b, '\t'), field...)
	}
	b = strconv.AppendInt(append(b, '\t'), v.Remaining, 10)
	b = strconv.AppendInt(append(b, '\t'), int64(retryAfter), 10)
	return append(b, '\n')
}

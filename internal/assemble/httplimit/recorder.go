package httplimit

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate/internal/decide/engine"
)

// costField is a dictionary of RFC 9651: names of limits, as clients see them,
// with whole numbers of units, such as "chat.tokens=512, export=1". A streamed
// answer may send it as a trailer. Clients do not see it.
const costField = engine.CostField

// Recorder passes a handler's answer on to the client, without the costField, and
// records the outcome of the request: its status, and the true cost.
type Recorder struct {
	http.ResponseWriter
	// PassCosts leaves the costField in the answer, for a limiter around this one.
	PassCosts bool
	status    int
	costs     []string
	request   *http.Request
	hungUp    bool // before the answer had a status
	hijacked  bool
	aborted   bool
	head      func(http.Header)
}

// NewRecorder returns a recorder of the answer to a request. Once the answer
// has a status, head may change its header; nil changes nothing.
func NewRecorder(w http.ResponseWriter, r *http.Request, head func(http.Header)) *Recorder {
	return &Recorder{ResponseWriter: w, request: r, head: head}
}

// WriteHeader passes the status on. Statuses of the 1xx class precede the
// answer, and HTTP/1.0 has none of them (RFC 9110, section 15.2).
func (w *Recorder) WriteHeader(status int) {
	if !w.request.ProtoAtLeast(1, 1) && status < 200 && status != http.StatusSwitchingProtocols {
		return
	}
	if w.status == 0 {
		w.Record(status, w.Header())
	}
	w.finishHead()
	w.ResponseWriter.WriteHeader(status)
}

// finishHead changes the header of an answer that has a status.
func (w *Recorder) finishHead() {
	if w.status != 0 && w.head != nil {
		w.head(w.Header())
		w.head = nil
	}
}

// Record notes a status and its costs. It removes the costs from the fields and
// from the announced trailers. Call it for an answer that does not pass through
// WriteHeader.
func (w *Recorder) Record(status int, fields http.Header) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		w.status, w.hungUp = status, w.request.Context().Err() == context.Canceled
	}
	if w.PassCosts {
		return
	}
	w.takeCosts(fields, costField)
	if announced := fields["Trailer"]; len(announced) > 0 {
		names := strings.FieldsFunc(strings.Join(announced, ","), func(c rune) bool { return strings.ContainsRune(", \t", c) })
		fields["Trailer"] = slices.DeleteFunc(names, func(name string) bool { return strings.EqualFold(name, costField) })
	}
}

// Write passes a part of the body on.
func (w *Recorder) Write(p []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(p)
}

// begin notes the status of an answer that begins without one.
func (w *Recorder) begin() {
	if w.status == 0 && !w.hijacked {
		w.Record(http.StatusOK, w.Header())
		w.finishHead()
	}
}

// FlushError sends what was written so far, with its head.
func (w *Recorder) FlushError() error {
	w.begin()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController reach the server's writer.
func (w *Recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// End notes that the handler has returned. An answer without a status has status
// 200 then, but a program around the handler may still write another.
func (w *Recorder) End() { w.begin() }

// Abort notes that the client broke off its request. The answer is not the
// handler's then, so the outcome has no status.
func (w *Recorder) Abort() { w.aborted = true }

// takeCosts moves a field from the others to the costs.
func (w *Recorder) takeCosts(fields http.Header, name string) {
	w.costs = append(w.costs, fields.Values(name)...)
	fields.Del(name)
}

// Outcome returns the outcome of the request after the answer has ended, and
// the members of its costs that cannot be parsed. A status from after the client
// hung up is left out: handlers answer 500 when their own calls are cancelled, and
// clients must not get refunds by that.
func (w *Recorder) Outcome() (o *engine.Outcome, malformed []string) {
	if !w.PassCosts {
		w.takeCosts(w.Header(), costField)
		w.takeCosts(w.Header(), http.TrailerPrefix+costField)
	}
	costs, malformed := parseCosts(strings.Join(w.costs, ","))
	o = &engine.Outcome{Status: w.status, Costs: costs, Aborted: w.aborted}
	if w.hungUp || w.aborted {
		o.Status = 0
	}
	return o, malformed
}

// parseCosts reads a costField. It ignores members that are not whole numbers
// from 0: the request stays charged for them as it was.
func parseCosts(field string) (costs map[string]int64, malformed []string) {
	for member := range strings.SplitSeq(field, ",") {
		member, _, _ = strings.Cut(strings.TrimSpace(member), ";") // without parameters
		if member == "" {
			continue
		}
		name, number, _ := strings.Cut(member, "=")
		units, err := strconv.ParseInt(number, 10, 64)
		if err != nil || units < 0 {
			malformed = append(malformed, member)
			continue
		}
		if costs == nil {
			costs = map[string]int64{}
		}
		costs[name] = units
	}
	return costs, malformed
}

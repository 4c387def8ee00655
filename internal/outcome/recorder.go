// Package outcome watches a handler's answer to a request that was charged: its
// status, and the true cost that it reports.
package outcome

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate/internal/engine"
)

// costField is the field in which a backend reports the true cost of a request,
// as a dictionary of RFC 9651: names of limits, as clients see them, with whole
// numbers of units, such as "chat.tokens=512, export=1". A streamed answer may
// send it as a trailer. Clients do not see it.
const costField = "Slidegate-Cost"

// Recorder passes an answer on to the client, without the costField, and
// records the outcome of the request.
type Recorder struct {
	http.ResponseWriter
	status int
	costs  []string
	http10 bool // the client speaks HTTP/1.0
	head   func(http.Header)
}

// NewRecorder returns a recorder of the answer to a request. Once the answer
// has a status, head may change its header; nil changes nothing.
func NewRecorder(w http.ResponseWriter, r *http.Request, head func(http.Header)) *Recorder {
	return &Recorder{ResponseWriter: w, http10: !r.ProtoAtLeast(1, 1), head: head}
}

// WriteHeader passes the status on. Statuses of the 1xx class precede the
// answer, and HTTP/1.0 has none of them (RFC 9110, section 15.2).
func (w *Recorder) WriteHeader(status int) {
	if w.http10 && status < 200 && status != http.StatusSwitchingProtocols {
		return
	}
	if w.status == 0 {
		w.Record(status, w.Header())
	}
	if w.status != 0 && w.head != nil {
		w.head(w.Header())
		w.head = nil
	}
	w.ResponseWriter.WriteHeader(status)
}

// Record notes a status and its costs. It removes the costs from the fields and
// from the announced trailers. Call it for an answer that does not pass through
// WriteHeader.
func (w *Recorder) Record(status int, fields http.Header) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		w.status = status
	}
	w.takeCosts(fields, costField)
	if announced := fields["Trailer"]; len(announced) > 0 {
		fields["Trailer"] = withoutCost(announced)
	}
}

// withoutCost returns the announced trailers without the costField.
func withoutCost(announced []string) (left []string) {
	for name := range strings.SplitSeq(strings.Join(announced, ","), ",") {
		if name = strings.TrimSpace(name); !strings.EqualFold(name, costField) {
			left = append(left, name)
		}
	}
	return left
}

// Write passes a part of the body on.
func (w *Recorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController flush and hijack.
func (w *Recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// takeCosts moves a field from the others to the costs.
func (w *Recorder) takeCosts(fields http.Header, name string) {
	w.costs = append(w.costs, fields.Values(name)...)
	fields.Del(name)
}

// Outcome returns the outcome of the request after the answer has ended, and
// the members of its costs that cannot be parsed.
func (w *Recorder) Outcome() (o *engine.Outcome, malformed []string) {
	w.takeCosts(w.Header(), costField)
	w.takeCosts(w.Header(), http.TrailerPrefix+costField)
	costs, malformed := parseCosts(strings.Join(w.costs, ","))
	return &engine.Outcome{Status: w.status, Costs: costs}, malformed
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

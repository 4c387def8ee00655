package gateway

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate/internal/engine"
)

// costField is the field by which a backend says what a request has truly cost, as a dictionary of RFC 9651: limits as
// clients know them, with whole numbers of units, such as "chat.tokens=512, export=1". It may come as a trailer, where an
// answer is streamed. Clients do not see it.
const costField = "Slidegate-Cost"

// witness passes an answer on, and remembers what it says of the request's outcome.
type witness struct {
	http.ResponseWriter
	status int
	costs  []string
	old    bool // the client speaks HTTP/1.0
	cut    bool // the client broke its request off: whatever the gateway answers, no backend did
}

type witnessKey struct{}

// witnessOf returns the witness of a request; nil for a preflight.
func witnessOf(ctx context.Context) *witness {
	w, _ := ctx.Value(witnessKey{}).(*witness)
	return w
}

// WriteHeader passes the status on; those of the 1xx class are not the answer yet, and HTTP/1.0 knows none (RFC 9110, section
// 15.2).
func (w *witness) WriteHeader(status int) {
	if w.old && status < 200 && status != http.StatusSwitchingProtocols {
		return
	}
	if w.status == 0 {
		w.see(status, w.Header())
	}
	w.ResponseWriter.WriteHeader(status)
}

// see remembers a status and its costs, and takes these out of the fields, and out of those that are announced.
func (w *witness) see(status int, fields http.Header) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		w.status = status
	}
	w.take(fields, costField)
	if announced := fields["Trailer"]; len(announced) > 0 {
		fields["Trailer"] = withoutCost(announced)
	}
}

// withoutCost returns what is left of the trailers that an answer announces.
func withoutCost(announced []string) (left []string) {
	for name := range strings.SplitSeq(strings.Join(announced, ","), ",") {
		if name = strings.TrimSpace(name); !strings.EqualFold(name, costField) {
			left = append(left, name)
		}
	}
	return left
}

// Write passes a part of the body on.
func (w *witness) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController flush and hijack.
func (w *witness) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// take takes a field out of others and remembers it.
func (w *witness) take(fields http.Header, name string) {
	w.costs = append(w.costs, fields.Values(name)...)
	fields.Del(name)
}

// outcome returns what became of the request, once the answer has ended, and what it says of costs that nobody can read.
func (w *witness) outcome() (o *engine.Outcome, ignored []string) {
	w.take(w.Header(), costField)
	w.take(w.Header(), http.TrailerPrefix+costField)
	costs, ignored := parseCosts(strings.Join(w.costs, ","))
	if o = (&engine.Outcome{Status: w.status, Costs: costs, Aborted: w.cut}); w.cut {
		o.Status = 0 // the gateway's own, which refunds nothing
	}
	return o, ignored
}

// parseCosts reads a costField. What is no whole number from 0 is ignored, and stays charged as it was stated.
func parseCosts(field string) (costs map[string]int64, ignored []string) {
	for member := range strings.SplitSeq(field, ",") {
		member, _, _ = strings.Cut(strings.TrimSpace(member), ";") // parameters say nothing here
		if member == "" {
			continue
		}
		name, number, _ := strings.Cut(member, "=")
		units, err := strconv.ParseInt(number, 10, 64)
		if err != nil || units < 0 {
			ignored = append(ignored, member)
			continue
		}
		if costs == nil {
			costs = map[string]int64{}
		}
		costs[name] = units
	}
	return costs, ignored
}

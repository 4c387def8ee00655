package gateway

import (
	"context"
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

// responseRecorder passes a backend's answer on to the client, without the
// costField, and records the outcome of the request.
type responseRecorder struct {
	http.ResponseWriter
	status  int
	costs   []string
	http10  bool // the client speaks HTTP/1.0
	aborted bool // the client broke off its request, so the backend did not give the answer

	decision map[string]any // the authorizer's context
}

type recorderKey struct{}

// record returns a recorder of the answer to a request, and the request with it.
func record(w http.ResponseWriter, r *http.Request, decision map[string]any) (*responseRecorder, *http.Request) {
	recorder := &responseRecorder{ResponseWriter: w, http10: !r.ProtoAtLeast(1, 1), decision: decision}
	return recorder, r.WithContext(context.WithValue(r.Context(), recorderKey{}, recorder))
}

func recorderOf(r *http.Request) *responseRecorder {
	return r.Context().Value(recorderKey{}).(*responseRecorder)
}

// WriteHeader passes the status on. Statuses of the 1xx class precede the
// answer, and HTTP/1.0 has none of them (RFC 9110, section 15.2).
func (w *responseRecorder) WriteHeader(status int) {
	if w.http10 && status < 200 && status != http.StatusSwitchingProtocols {
		return
	}
	if w.status == 0 {
		w.record(status, w.Header())
	}
	w.ResponseWriter.WriteHeader(status)
}

// record notes a status and its costs. It removes the costs from the fields and
// from the announced trailers.
func (w *responseRecorder) record(status int, fields http.Header) {
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
func (w *responseRecorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController flush and hijack.
func (w *responseRecorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// takeCosts moves a field from the others to the costs.
func (w *responseRecorder) takeCosts(fields http.Header, name string) {
	w.costs = append(w.costs, fields.Values(name)...)
	fields.Del(name)
}

// outcome returns the outcome of the request after the answer has ended, and
// the members of its costs that cannot be parsed.
func (w *responseRecorder) outcome() (o *engine.Outcome, malformed []string) {
	w.takeCosts(w.Header(), costField)
	w.takeCosts(w.Header(), http.TrailerPrefix+costField)
	costs, malformed := parseCosts(strings.Join(w.costs, ","))
	if o = (&engine.Outcome{Status: w.status, Costs: costs, Aborted: w.aborted}); w.aborted {
		o.Status = 0 // the gateway's own status, which must not refund anything
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

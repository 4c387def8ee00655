package gateway

import (
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
}

// WriteHeader passes the status on; those of the 1xx class are not the answer yet.
func (w *witness) WriteHeader(status int) {
	if status >= 200 && w.status == 0 {
		w.status = status
		w.take(costField)
	}
	w.ResponseWriter.WriteHeader(status)
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

// take takes a field out of the answer and remembers it.
func (w *witness) take(name string) {
	w.costs = append(w.costs, w.Header().Values(name)...)
	w.Header().Del(name)
}

// outcome returns what became of the request, once the answer has ended, and what it says of costs that nobody can read.
func (w *witness) outcome() (o *engine.Outcome, ignored []string) {
	w.take(costField)
	w.take(http.TrailerPrefix + costField)
	costs, ignored := parseCosts(strings.Join(w.costs, ","))
	return &engine.Outcome{Status: w.status, Costs: costs}, ignored
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

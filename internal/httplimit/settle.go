package httplimit

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/outcome"
	"github.com/slidegate/slidegate/internal/receipt"
)

// maxReceipts is how many receipts of a request are tried: the gateway's, and
// what a client may have sent beside it.
const maxReceipts = 4

// Settle corrects by the answers of another handler what an authorizer in front
// has charged.
type Settle struct {
	// Texts returns what may be the receipt of a request.
	Texts func(*http.Request) []string
	// Take verifies a receipt, for one use.
	Take func(text string) (*receipt.Receipt, error)
	// Finish corrects the charge by the outcome.
	Finish func(context.Context, *receipt.Receipt, *engine.Outcome)
	Log    *slog.Logger // of receipts that are refused; it is throttled
	Costs  *outcome.Warnings
	Next   http.Handler
}

// ServeHTTP lets the next handler answer. It does not see the receipt, and the
// client does not see the costs. A request without a valid receipt keeps what it
// was charged.
func (s *Settle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	taken := s.take(r)
	if _, sent := r.Header[receipt.Header]; sent {
		without := *r
		without.Header = r.Header.Clone()
		without.Header.Del(receipt.Header)
		r = &without
	}
	observe(w, r, s.Next, nil, false, func(o *engine.Outcome, malformed []string) {
		if taken != nil {
			s.Costs.Report(r.Context(), taken, o, malformed)
			s.Finish(r.Context(), taken, o)
		}
	})
}

// take returns the receipt of a request; nil for none that is valid.
func (s *Settle) take(r *http.Request) (taken *receipt.Receipt) {
	var refused error
	texts := s.Texts(r)
	for _, text := range texts[:min(len(texts), maxReceipts)] {
		if text == "" {
			continue // a mapping of a value that is not there
		}
		if taken, refused = s.Take(text); refused == nil {
			return taken
		}
	}
	if refused != nil {
		s.Log.WarnContext(r.Context(), "a receipt is refused: the request stays charged as it was", "error", refused)
	}
	return nil
}

package httplimit

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/headers"
	"github.com/slidegate/slidegate/internal/oplog"
	"github.com/slidegate/slidegate/internal/receipt"
)

// maxReceipts is how many receipts of a request are tried: the gateway's, and
// what a client may have sent beside it.
const maxReceipts = 4

// Settle corrects by the answers of another handler what an authorizer in front
// has charged. It answers requests that this has denied and passed on.
type Settle struct {
	Keys receipt.Keys
	// Texts returns what may be the receipt of a request.
	Texts func(*http.Request) []string
	// Take verifies a receipt, for one use.
	Take func(text string) (*receipt.Receipt, error)
	// Finish corrects the charge by the outcome.
	Finish func(context.Context, *receipt.Receipt, *engine.Outcome)
	Log    *slog.Logger // of receipts that are refused; it is throttled
	Costs  *oplog.CostWarnings
	Next   http.Handler
}

// ServeHTTP lets the next handler answer. It does not see the receipt, and the
// client does not see the costs. A request without a valid receipt keeps what it
// was charged.
func (s *Settle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sent := s.Texts(r)
	delete(r.Header, receipt.Header)
	if s.denied(w, sent) {
		return
	}
	taken := s.take(r.Context(), sent[:min(len(sent), maxReceipts)])
	observe(w, r, s.Next, nil, false, func(o *engine.Outcome, malformed []string) {
		if taken != nil {
			s.Costs.Report(r.Context(), taken, o, malformed)
			s.Finish(r.Context(), taken, o)
		}
	})
}

// denied answers a request that the authorizer has denied; it returns false for
// others. Without a valid signature the answer has no details: a client may have
// sent them.
func (s *Settle) denied(w http.ResponseWriter, sent []string) bool {
	for _, text := range sent {
		denial, denied := s.Keys.Denied(text)
		if !denied {
			continue
		}
		allowOrigins(w.Header())
		if denial == nil {
			const status = http.StatusTooManyRequests
			write(w, headers.Denial{Status: status, ContentType: headers.ProblemType, Body: headers.ProblemBody(status, headers.QuotaExceeded, "")})
			return true
		}
		for name, value := range denial.Fields {
			w.Header().Set(name, value)
		}
		write(w, headers.Denial{Status: denial.Status, ContentType: denial.Fields["Content-Type"], Body: denial.Body})
		return true
	}
	return false
}

// take returns the receipt of a request; nil for none that is valid.
func (s *Settle) take(ctx context.Context, sent []string) (taken *receipt.Receipt) {
	var refused error
	mapped := false
	for _, text := range sent {
		mapped = mapped || text != ""
		if text == "" || text == receipt.Nothing { // "" if a mapped value is not there
			continue
		}
		if taken, refused = s.Take(text); refused == nil {
			return taken
		}
	}
	switch {
	case refused != nil:
		s.Log.WarnContext(ctx, "a receipt is refused: the request stays charged as it was", "error", refused)
	case !mapped && s.Keys != nil:
		s.Log.WarnContext(ctx, "a request has no receipt: it came past the gateway, its integration does not map context.authorizer.receipt to "+
			receipt.Header+", or the authorizer has no secret; a denied one would pass as well")
	}
	return nil
}

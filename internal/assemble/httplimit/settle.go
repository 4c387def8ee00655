package httplimit

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/setup"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/headers"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/observe/oplog"
)

// maxReceipts is how many receipts of a request are tried: the gateway's, and
// what a client may have sent beside it.
const maxReceipts = 4

// SettleByField returns a middleware that takes receipts from the field of
// requests, signed by one of the keys.
func SettleByField(c *setup.Config, keys receipt.Keys) func(http.Handler) http.Handler {
	settler := receipt.NewSettler(c.Store, keys, c.Observer())
	return (&settle{config: c, settler: settler, keys: keys, texts: receiptsOf, take: settler.TakeHeader}).middleware()
}

// SettleByContext returns a middleware for a program that gets the authorizer's
// context with each request, such as a Lambda. stated returns the context's value
// receipt, "" for none. API Gateway states that, so it has no signature. stated
// must not read it from a field of the request: any client could send one, and
// write to every counter.
func SettleByContext(c *setup.Config, stated func(*http.Request) string) func(http.Handler) http.Handler {
	settler := receipt.NewSettler(c.Store, nil, c.Observer())
	texts := func(r *http.Request) []string { return []string{stated(r)} }
	return (&settle{config: c, settler: settler, texts: texts, take: settler.Take}).middleware()
}

// receiptsOf returns the members of the field. A proxy may have joined the gateway's
// value with what the client sent.
func receiptsOf(r *http.Request) []string {
	return strings.FieldsFunc(strings.Join(r.Header.Values(receipt.Header), ","), func(c rune) bool { return c == ',' || c == ' ' })
}

// settle corrects by the answers of another handler what an authorizer in front
// has charged. It answers requests that this has denied and passed on.
type settle struct {
	config  *setup.Config
	settler *receipt.Settler
	keys    receipt.Keys // nil for receipts without signatures
	// texts returns what may be the receipt of a request.
	texts func(*http.Request) []string
	// take verifies a receipt, for one use.
	take  func(text string, now time.Time) (*receipt.Receipt, error)
	log   *slog.Logger // of receipts that are refused; it is throttled
	costs *oplog.CostWarnings
	next  http.Handler
}

// middleware returns handlers that share what they log.
func (s *settle) middleware() func(http.Handler) http.Handler {
	s.log, s.costs = oplog.Throttle(s.config.Log), oplog.NewCostWarnings(s.config.Log)
	return func(next http.Handler) http.Handler {
		h := *s
		h.next = next
		return &h
	}
}

// ServeHTTP lets the next handler answer. It does not see the receipt, and the
// client does not see the costs. A request without a valid receipt keeps what it
// was charged.
func (s *settle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sent := s.texts(r)
	delete(r.Header, receipt.Header)
	if s.denied(w, sent) {
		return
	}
	taken := s.takeOne(r.Context(), sent[:min(len(sent), maxReceipts)])
	observe(w, r, s.next, nil, false, func(o *engine.Outcome, malformed []string) {
		if taken != nil {
			s.costs.Report(r.Context(), taken, o, malformed)
			s.settler.Finish(r.Context(), s.config.Now(), taken, o)
		}
	})
}

// denied answers a request that the authorizer has denied; it returns false for
// others. Without a valid signature the answer has no details: a client may have
// sent them.
func (s *settle) denied(w http.ResponseWriter, sent []string) bool {
	for _, text := range sent {
		denial, denied := s.keys.Denied(text)
		if !denied {
			continue
		}
		if denial == nil {
			write(w, problemDenial(http.StatusTooManyRequests, headers.QuotaExceeded))
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

// takeOne returns the receipt of a request; nil for none that is valid.
func (s *settle) takeOne(ctx context.Context, sent []string) (taken *receipt.Receipt) {
	var refused error
	mapped := false
	for _, text := range sent {
		mapped = mapped || text != ""
		if text == "" || text == receipt.Nothing { // "" if a mapped value is not there
			continue
		}
		if taken, refused = s.take(text, s.config.Now()); refused == nil {
			return taken
		}
	}
	switch {
	case refused != nil:
		s.log.WarnContext(ctx, "a receipt is refused: the request stays charged as it was", "error", refused)
	case !mapped && s.keys != nil:
		s.log.WarnContext(ctx, "a request has no receipt: it came past the gateway, its integration does not map context.authorizer.receipt to "+
			receipt.Header+", or the authorizer has no secret; a denied one would pass as well")
	}
	return nil
}

package receipt

import (
	"log/slog"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
)

// Issuer issues the receipts of an authorizer. It is safe for concurrent use.
type Issuer struct {
	keys Keys
	log  *slog.Logger

	mu   sync.Mutex
	left map[string]bool // rules that were logged
}

// NewIssuer returns an issuer, which signs receipts if there are keys.
func NewIssuer(keys Keys, log *slog.Logger) *Issuer {
	return &Issuer{keys: keys, log: log, left: map[string]bool{}}
}

// Issue returns the receipt of a decision; "" if no outcome can correct what it
// charged. It logs once of each rule that a charge does not fit.
func (i *Issuer) Issue(now time.Time, d *engine.Decision) string {
	text, left := Encode(now, d)
	for _, rule := range left {
		i.report(rule)
	}
	return i.keys.Sign(text)
}

func (i *Issuer) report(rule string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.left[rule] {
		i.left[rule] = true
		i.log.Warn("a charge does not fit into the receipt: the backend cannot settle or refund it", "rule", rule, "most_characters", MaxLen)
	}
}

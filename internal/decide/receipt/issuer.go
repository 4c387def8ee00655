package receipt

import (
	"log/slog"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
)

// Issuer issues the receipts of an authorizer, and logs once of each rule what
// becomes of its charges. It is safe for concurrent use.
type Issuer struct {
	keys Keys
	log  *slog.Logger

	issued sync.Map // has the names of rules in receipts
	left   sync.Map // has those of rules that did not fit
}

// NewIssuer returns an issuer, which signs receipts if there are keys.
func NewIssuer(keys Keys, log *slog.Logger) *Issuer { return &Issuer{keys: keys, log: log} }

// Nothing stands for a receipt if no outcome can correct what was charged. It
// shows a backend that its integration maps receipts, and passed denials with them.
const Nothing = "nothing"

// Issue returns the receipt of a decision. If no outcome can correct what it
// charged, that is Nothing for backends that get it as a header, which have keys,
// and "" for others.
func (i *Issuer) Issue(now time.Time, d *engine.Decision) string {
	text, issued, left := Encode(now, d)
	for _, rule := range issued {
		if _, logged := i.issued.LoadOrStore(rule, true); !logged {
			i.log.Info("refund_on and settle of this rule take effect once the backend settles by the authorizer's receipt", "rule", rule)
		}
	}
	for _, rule := range left {
		if _, logged := i.left.LoadOrStore(rule, true); !logged {
			i.log.Warn("a charge does not fit into the receipt: refund_on and settle of its rule have no effect then",
				"rule", rule, "most_characters", MaxLen)
		}
	}
	if text == "" && len(i.keys) > 0 {
		return Nothing
	}
	return i.keys.Sign(text)
}

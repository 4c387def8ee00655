// Package receipt carries what a limiter has charged to the backend, which
// alone sees the request's outcome. The backend settles and refunds by it. It
// needs the table of counters, and no rules.
//
// A receipt is text for one value of an authorizer's context. API Gateway states
// that, so it needs no signature. Where the text travels as a header, Keys sign
// it, and it expires.
package receipt

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
)

const (
	// Header is the field in which an HTTP integration gets the receipt.
	Header = "Slidegate-Receipt"
	// MaxLen is the most characters of a receipt, without its signature. The
	// fields of a request may have 10,240 bytes in all.
	MaxLen = 2048
	// MaxAge is how long a signed receipt without holds is valid.
	MaxAge = 15 * time.Minute
)

// ErrMalformed is wrapped by the error of a text that is no receipt.
var ErrMalformed = errors.New("the receipt is malformed")

// Receipt is what one decision has charged and its outcome may correct.
type Receipt struct {
	Time    time.Time // of the decision
	Rules   int64     // the version of the rules in their table; 0 for others
	Pending []engine.Pending

	taken    time.Time // by the backend's clock, when the request came
	finished atomic.Bool
}

var encoding = base64.RawURLEncoding.Strict()

// Encode returns the receipt of a decision, and the rules in it; "" if no
// outcome can correct what the decision charged. Charges that do not fit into
// MaxLen are left out: they stay as they are. left names their rules.
func Encode(now time.Time, d *engine.Decision) (text string, issued, left []string) {
	pending := d.Pending()
	if len(pending) == 0 {
		return "", nil, nil
	}
	data := appendHead(nil, now, d.RulesVersion(), pending)
	for i := range pending {
		rule := pending[i].Rule
		more := appendPending(data, &pending[i], now)
		if encoding.EncodedLen(len(more)) > MaxLen {
			left = append(left, rule)
			continue
		}
		data, issued = more, append(issued, rule)
	}
	if len(issued) == 0 {
		return "", nil, left
	}
	return encoding.EncodeToString(data), issued, left
}

// SettleBy returns until when a receipt of the time settles these charges: the
// earliest end of their holds, or MaxAge later without holds. A place in flight may
// be renewed, and then settles later.
func SettleBy(pending []engine.Pending, at time.Time) time.Time {
	end, held := at.Add(MaxAge), false
	for i := range pending {
		if r := &pending[i].Receipt; r.Hold != 0 && (!held || r.Until < end.UnixMilli()) {
			end, held = time.UnixMilli(r.Until), true
		}
	}
	return end
}

// Parse reads a receipt of an authorizer's context, signed or not. It does not
// verify the signature: use it where only API Gateway can have stated the text.
// It accepts any text without harm. The error is ErrMalformed, or says which
// time zone is missing.
func Parse(text string) (*Receipt, error) {
	text, _ = split(text)
	if len(text) > MaxLen {
		return nil, fmt.Errorf("%w: it has %d characters, above %d", ErrMalformed, len(text), MaxLen)
	}
	data, err := encoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return decode(data)
}

// SettlingLimits returns, in order, the policy names of the limits that settle.
func (r *Receipt) SettlingLimits() (names []string) {
	for i := range r.Pending {
		p := &r.Pending[i]
		for j := range p.Charge.Limits {
			if p.MaxCosts[j] != engine.Unsettled {
				names = append(names, p.PolicyName(j))
			}
		}
	}
	slices.Sort(names)
	return names
}

// UnknownCosts returns, in order, the names of an outcome's costs if limits
// settle here, and none of the names is theirs. A receipt does not know the
// limits of rules that did not cover the request.
func (r *Receipt) UnknownCosts(costs map[string]int64) (names []string) {
	settling := r.SettlingLimits()
	if len(settling) == 0 {
		return nil
	}
	for name := range costs {
		if slices.Contains(settling, name) {
			return nil
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

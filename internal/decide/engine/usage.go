package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
)

// MaxUsage is the highest number of an outcome's usage. Every parser of JSON reads
// fifteen digits exactly.
const MaxUsage = limit.MaxCapacity

// UsageError says why an outcome's usage settles nothing.
type UsageError struct {
	Rule, Key string // of the charge that it cannot settle
	Limit     string // its policy name
	Name      string // of the usage; "" if the fault is in no single name
	Reason    string // names the limit, and says what to write instead
}

// Error returns the reason.
func (e *UsageError) Error() string { return e.Reason }

// CheckUsage reports whether the outcome's usage can settle the charges of a
// decision. The error is a *UsageError. The caller then settles none of them, so
// that a misspelled name leaves what was reserved.
//
// Each name needs a weight in each limit that settles. A limit without weights
// needs its own cost beside the usage, unless the answer broke off.
func CheckUsage(all []Pending, o *Outcome) error {
	for n := range all {
		p := &all[n]
		for i, weights := range p.Weights[:len(p.Charge.Limits)] {
			limit := p.PolicyName(i)
			_, stated := o.Costs[limit]
			if len(o.Usage) == 0 || p.MaxCosts[i] == Unsettled || weights == nil && (stated || o.Aborted) {
				continue
			}
			_, wrong := weigh(weights, o.Usage)
			if stated {
				wrong = &UsageError{Reason: "it has both a cost and usage: report one of them"}
			}
			if wrong != nil {
				return &UsageError{p.Rule, p.Key(), limit, wrong.Name, "limit " + limit + ": " + wrong.Reason}
			}
		}
	}
	return nil
}

// RefusesUsage reports whether CheckUsage finds an error. The observer sees it.
func RefusesUsage(ctx context.Context, observer Observer, all []Pending, o *Outcome) bool {
	wrong, refused := errors.AsType[*UsageError](CheckUsage(all, o))
	if refused {
		observer.StoreFailed(ctx, "settle", wrong.Rule, wrong.Key, wrong)
	}
	return refused
}

// weigh returns what usage costs in units: the exact sum of weight times number,
// rounded up once.
//
// Example: with the weights 1 for input_tokens and 0.1 for cached_tokens, 812 and
// 1,005 of them are 912.5, which cost 913 units.
func weigh(weights rules.Weights, usage map[string]int64) (units int64, wrong *UsageError) {
	sum := big.NewInt(rules.Millionths - 1) // rounds up
	for _, name := range slices.Sorted(maps.Keys(usage)) {
		n := usage[name]
		weight, ok := weights[name]
		if !ok {
			weight, ok = weights[rules.OtherUsage]
		}
		switch {
		case n < 0 || n > MaxUsage:
			return 0, &UsageError{Name: name, Reason: fmt.Sprintf("usage %.64q must be a whole number from 0 to %d", name, int64(MaxUsage))}
		case !ok:
			return 0, &UsageError{Name: name, Reason: fmt.Sprintf("usage %.64q has no weight: write one in the limit's cost, "+
				"0 if it is free, or one for other, which all names without a weight take", name)}
		}
		sum.Add(sum, new(big.Int).Mul(big.NewInt(n), big.NewInt(weight)))
	}
	if sum.Div(sum, big.NewInt(rules.Millionths)); sum.Cmp(big.NewInt(limit.MaxCapacity)) > 0 {
		return 0, &UsageError{Reason: fmt.Sprintf("the usage costs %d units, above %d, the most that settles: lower the weights or the usage", sum, int64(limit.MaxCapacity))}
	}
	return sum.Int64(), nil
}

package report

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/cost"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
)

// Counted is a store that counts the writes that DynamoDB would get. It is for
// one goroutine. The store below decides; one in memory proves every denial
// without a charge, as a snapshot of DynamoDB's last answer nearly always does.
type Counted struct {
	limit.Store
	set    *rules.Set
	writes map[string]float64 // charges and refunds, by the first word of their keys
}

// Count counts the writes of these rules to a store.
func Count(store limit.Store, set *rules.Set) *Counted {
	return &Counted{store, set, map[string]float64{}}
}

func (s *Counted) count(c *limit.Charge) {
	if !c.ZeroCost() {
		counter, _, _ := strings.Cut(c.Key, "|")
		s.writes[counter]++
	}
}

// Charge implements limit.Store.
func (s *Counted) Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	err := s.Store.Charge(ctx, now, c, v)
	if err == nil && v.Allowed {
		s.count(c)
	}
	return err
}

// ChargeAll implements limit.Store.
func (s *Counted) ChargeAll(ctx context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
	err := s.Store.ChargeAll(ctx, now, cs, vs)
	if err != nil || slices.ContainsFunc(vs, func(v *limit.Verdict) bool { return !v.Allowed }) {
		return err
	}
	for _, c := range cs {
		s.count(c)
	}
	return nil
}

// Settle implements limit.Store.
func (s *Counted) Settle(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64) error {
	s.count(c)
	return s.Store.Settle(ctx, now, c, r, deltas)
}

// Traffic returns the traffic of a month that has so many times what was
// counted.
func (s *Counted) Traffic(requests, denied, times float64) *cost.Traffic {
	return cost.TrafficOf(requests, denied, s.set, func(counter string) float64 { return s.writes[counter] * times })
}

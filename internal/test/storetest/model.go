package storetest

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/slidegate/slidegate/internal/limit"
)

// call is a call of a client in a history.
type call struct {
	kind    kind
	now     time.Time
	charges []*limit.Charge // one, unless all are charged at once
	receipt limit.Receipt   // of a settlement, or of a charge that was made
	deltas  []int64
}

type kind string

const (
	toCharge    kind = "charge"
	toChargeAll kind = "charge all"
	toPeek      kind = "peek"
	toSettle    kind = "settle"
	toReset     kind = "reset"
)

// verdicts answer a call: one for each charge, none for a settlement or a
// reset.
type verdicts []*limit.Verdict

// do makes the call on a store: the one under test, or the reference.
func (c *call) do(s limit.Store) (vs verdicts, err error) {
	ctx, first := context.Background(), c.charges[0]
	switch c.kind {
	case toSettle:
		return nil, s.Settle(ctx, c.now, first, &c.receipt, c.deltas)
	case toReset:
		return nil, s.Reset(ctx, first.Key)
	}
	for range c.charges {
		vs = append(vs, &limit.Verdict{})
	}
	switch c.kind {
	case toCharge:
		err = s.Charge(ctx, c.now, first, vs[0])
	case toPeek:
		err = s.Peek(ctx, c.now, first, vs[0])
	case toChargeAll:
		err = s.ChargeAll(ctx, c.now, c.charges, vs)
	}
	return vs, err
}

func (c *call) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%v: %s", c.now.Sub(epoch), c.kind)
	for _, charge := range c.charges {
		fmt.Fprintf(&s, " %s %d", charge.Key[strings.Index(charge.Key, ":")+1:strings.LastIndex(charge.Key, "|")], charge.Costs)
	}
	if c.kind == toSettle {
		fmt.Fprintf(&s, " by %+d", c.deltas)
	}
	return s.String()
}

func (vs verdicts) String() string {
	var results []string
	for _, v := range vs {
		results = append(results, format(v.Result))
	}
	return strings.Join(results, "; ")
}

// model is the reference as porcupine wants it. A state is a Reference store; a
// call copies it and changes the copy.
func model(lagging bool) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return NewReference() },
		Step: func(state, input, output any) (bool, any) {
			next, c := state.(*Reference).clone(), input.(*call)
			want, err := c.do(next)
			return err == nil && c.agree(next, output.(verdicts), want, lagging), next
		},
		Equal:             func(a, b any) bool { return reflect.DeepEqual(a.(*Reference).counters, b.(*Reference).counters) },
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%v → %v", input, output) },
		DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state.(*Reference).counters) },
	}
}

// agree reports whether the store's verdicts are the reference's. The reference
// takes over the store's name for a generation.
func (c *call) agree(s *Reference, got, want verdicts, lagging bool) bool {
	denied := slices.ContainsFunc(want, isDenial)
	if lagging && denied && c.kind != toPeek {
		return slices.ContainsFunc(got, isDenial) && (c.kind == toChargeAll || lags(got[0].Result, want[0].Result))
	}
	for i := range want {
		g, w := got[i], want[i]
		same := g.Result == w.Result && slices.Equal(g.Limits, w.Limits)
		if lagging && c.kind == toChargeAll { // computed from a snapshot before others charged
			same = g.Allowed
		}
		if !same || !denied && c.kind != toPeek && !s.named(c.charges[i], generationOf(&g.Receipt)) {
			return false
		}
	}
	return true
}

func isDenial(v *limit.Verdict) bool { return !v.Allowed }

// named takes the store's name for the generation of a counter that the
// reference has just charged, and reports whether it is the same as before. A
// charge of zero cost names none.
func (s *Reference) named(c *limit.Charge, g generation) bool {
	if c.ZeroCost() {
		return g.mark == ""
	}
	ct := s.counters[c.Key]
	if !ct.named {
		s.counters[c.Key] = counter{g, true, ct.states}
		return g.mark != ""
	}
	return ct.generation == g
}

func (s *Reference) clone() *Reference {
	next := &Reference{counters: maps.Clone(s.counters), generations: s.generations}
	for key, ct := range next.counters {
		ct.states = slices.Clone(ct.states)
		for i := range ct.states {
			ct.states[i] = ct.states[i].Clone()
		}
		next.counters[key] = ct
	}
	return next
}

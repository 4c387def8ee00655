package storetest

import (
	"context"
	"fmt"
	"maps"
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
	receipt limit.Receipt   // to settle; else that of a charge once it was made
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

// reply is the store's answer to a call: a verdict for each charge, none for a
// settlement or a reset.
type reply struct {
	verdicts  []limit.Verdict
	undecided bool
}

// do makes the call on a store: the one under test, or the reference.
func (c *call) do(s Store) (*reply, error) {
	answer, first := &reply{verdicts: make([]limit.Verdict, len(c.charges))}, c.charges[0]
	switch c.kind {
	case toCharge:
		return answer, s.Charge(context.Background(), c.now, first, &answer.verdicts[0])
	case toPeek:
		return answer, s.Peek(context.Background(), c.now, first, &answer.verdicts[0])
	case toChargeAll:
		var vs []*limit.Verdict
		for i := range answer.verdicts {
			vs = append(vs, &answer.verdicts[i])
		}
		return answer, s.ChargeAll(context.Background(), c.now, c.charges, vs)
	case toSettle:
		return &reply{}, s.Settle(context.Background(), c.now, first, &c.receipt, c.deltas)
	}
	return &reply{}, s.Reset(context.Background(), first.Key)
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

func (a *reply) String() string {
	var results []string
	for i := range a.verdicts {
		results = append(results, format(a.verdicts[i].Result))
	}
	return strings.Join(results, "; ")
}

// model is the reference as porcupine wants it. A state is a Reference store; a
// call copies it and changes the copy.
func model(lagging bool) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return NewReference() },
		Step: func(state, input, output any) (bool, any) {
			next, c, got := state.(*Reference).clone(), input.(*call), output.(*reply)
			want, err := c.do(next)
			return err == nil && c.explains(next, got, want, lagging), next
		},
		Equal:             func(a, b any) bool { return a.(*Reference).equal(b.(*Reference)) },
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%v → %v", input, output) },
		DescribeState:     func(state any) string { return state.(*Reference).String() },
	}
}

// explains reports whether the store's reply is the reference's. The counter's
// generation has the name that the store gives it.
func (c *call) explains(s *Reference, got, want *reply, lagging bool) bool {
	denied := slices.ContainsFunc(want.verdicts, isDenial)
	if lagging && denied && c.kind != toPeek {
		return slices.ContainsFunc(got.verdicts, isDenial) && (c.kind == toChargeAll || lags(got.verdicts[0].Result, want.verdicts[0].Result))
	}
	for i := range want.verdicts {
		g, w := &got.verdicts[i], &want.verdicts[i]
		same := g.Result == w.Result && g.Limits == w.Limits
		if lagging && c.kind == toChargeAll { // what is left is computed from before others charged
			same = g.Allowed
		}
		if !same || !denied && c.kind != toPeek && !s.named(c.charges[i], g.Receipt.Generation) {
			return false
		}
	}
	return true
}

func isDenial(v limit.Verdict) bool { return !v.Allowed }

// named takes the store's name for the generation of a counter that the
// reference has just charged, and reports whether it is the same as before. A
// charge of zero cost names none.
func (s *Reference) named(c *limit.Charge, generation string) bool {
	if c.ZeroCost() {
		return generation == ""
	}
	ct := s.counters[c.Key]
	if !ct.named {
		ct.generation, ct.named = generation, true
		return generation != ""
	}
	return ct.generation == generation
}

func (s *Reference) clone() *Reference {
	next := &Reference{counters: maps.Clone(s.counters), generations: s.generations}
	for key, ct := range next.counters {
		next.counters[key] = ct.clone()
	}
	return next
}

func (ct *counter) clone() *counter {
	next := &counter{ct.generation, ct.named, make([]limit.State, len(ct.states))}
	for i := range ct.states {
		next.states[i] = ct.states[i].Clone()
	}
	return next
}

func (s *Reference) equal(other *Reference) bool {
	return maps.EqualFunc(s.counters, other.counters, func(a, b *counter) bool {
		return a.generation == b.generation && slices.EqualFunc(a.states, b.states, func(a, b limit.State) bool {
			return a.Bucket == b.Bucket && slices.Equal(a.All(), b.All())
		})
	})
}

func (s *Reference) String() string {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(s.counters)) {
		fmt.Fprintf(&text, "%s:", key)
		for i := range s.counters[key].states {
			state := &s.counters[key].states[i]
			if full, charged := state.Full(); charged {
				fmt.Fprintf(&text, " full at %v", time.Duration(full-epoch.UnixNano()))
			}
			fmt.Fprintf(&text, " %v", state.All())
		}
		text.WriteString("\n")
	}
	return text.String()
}

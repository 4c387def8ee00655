package storetest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// InFlight returns a limit of places.
func InFlight(capacity int64, window time.Duration) limit.Limit {
	return limit.Limit{Algorithm: limit.InFlight, Capacity: capacity, Window: window}
}

//go:embed holds.txt
var holdFile string

// holding replays holds.txt, whose first paragraph explains its format, and opens
// holds of two keys at once.
func holding(t *testing.T, h Harness) {
	if h.NoHolds {
		return
	}
	clients := map[string]limit.Store{"a": h.Client(t), "b": h.Client(t)}
	for _, trace := range strings.Split(strings.TrimSpace(holdFile), "\n\n")[1:] {
		lines := strings.Split(trace, "\n")
		t.Run(lines[0], func(t *testing.T) { replayHolds(t, clients, lines[1], lines[2:]) })
	}
}

func replayHolds(t *testing.T, clients map[string]limit.Store, heading string, calls []string) {
	limits, holds, _ := strings.Cut(heading, "; ")
	p := newPair(t, clients["a"])
	for _, words := range strings.Split(limits, " + ") {
		p.limits = append(p.limits, readLimit(strings.Fields(words)))
	}
	if named(p.limits...); len(p.limits) == 1 {
		p.limits[0].Name = ""
	}
	p.note("%s", heading)
	var seconds int64
	if _, err := fmt.Sscanf(holds, "holds of %ds, at most %d", &seconds, &p.hold.Most); err != nil {
		p.fail("holds.txt: %v", err)
	}
	p.hold.For = time.Duration(seconds) * sec
	made := map[string]*answer{}
	for _, line := range calls {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		got := p.by(clients[words[1]]).call(must(time.ParseDuration(words[0])), words[2], words[3], words[4], made)
		if want := strings.Join(words[5:], " "); got != want {
			p.fail("got:  %s\nwant: %s", got, want)
		}
	}
}

// call makes a call of holds.txt, and returns the answer in words.
func (p *pair) call(at time.Duration, verb, id, list string, made map[string]*answer) string {
	p.Helper()
	var numbers []int64
	for _, word := range strings.Split(list, ",") {
		numbers = append(numbers, readNumber(word))
	}
	p.hold.ID = uint64(readNumber(id))
	a := made[id]
	switch verb {
	case "charge":
		a = p.charge(at, numbers...)
		if a.got.Allowed {
			made[id] = a
		}
		return p.answered(&a.got)
	case "peek":
		return p.answered(&p.peek(at, numbers...).want)
	case "settle":
		return outcome(p.settle(at, a, numbers...))
	case "renew":
		return outcome(p.renew(at, a, time.Duration(numbers[0])*sec))
	case "reset":
		p.reset()
	case "capacity":
		p.resize(numbers[0])
	default:
		panic("holds.txt: unknown call " + verb)
	}
	return "done"
}

// outcome returns the answer to a settlement or a renewal in a word.
func outcome(err error) string {
	switch {
	case errors.Is(err, limit.ErrClosed):
		return "closed"
	case errors.Is(err, limit.ErrReset):
		return "reset"
	}
	return "done"
}

// renew moves the end of a charge's hold. It returns the error if that is gone.
func (p *pair) renew(at time.Duration, a *answer, by time.Duration) error {
	p.Helper()
	c := *a.charge
	c.Hold.For = by
	p.note("%v: renewed%s for %v", at, a.holding(), by)
	return p.same(p.store.Renew(context.Background(), p.time(at), &c, &a.got.Receipt),
		p.reference.Renew(context.Background(), p.time(at), &c, &a.want.Receipt))
}

// same fails unless the store's error means what the reference's does, and
// returns that.
func (p *pair) same(got, want error) error {
	p.Helper()
	p.log[len(p.log)-1] += ": " + outcome(want)
	if want == nil {
		p.must(got)
	}
	if !errors.Is(got, want) {
		p.fail("the store returned the error %v, want %v", got, want)
	}
	return want
}

// holding names the hold of the next charge in the log.
func (p *pair) holding() string {
	if p.hold.ID == 0 {
		return ""
	}
	return fmt.Sprintf(" with hold %d of %v, at most %d", p.hold.ID, p.hold.For, p.hold.Most)
}

func (a *answer) holding() string {
	if a.want.Receipt.Hold == 0 {
		return ""
	}
	return fmt.Sprintf(" with hold %d", a.want.Receipt.Hold)
}

// answered describes a verdict of a charge.
func (p *pair) answered(v *limit.Verdict) string {
	s := format(v.Result)
	if v.Before != nil {
		var took []string
		for _, t := range v.Before {
			took = append(took, fmt.Sprint(t.Units))
		}
		s += ", took " + strings.Join(took, " and ") + " before"
	}
	if v.Allowed && v.Receipt.Hold != 0 {
		s += fmt.Sprintf(", hold until %v", time.UnixMilli(v.Receipt.Until).Sub(p.start))
	}
	return s
}

package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Compare has the subjects of a case decide in turns, in a new order each
// round. It returns their results, in their order. A subject that fails is left
// out, and the error names it; if it is the bare operation, there are none.
func Compare(ctx context.Context, c *Case) ([]Result, error) {
	all := make([]contestant, len(c.Subjects))
	defer func() {
		for i := range all {
			all[i].driver.close()
		}
	}()
	for i := range all {
		all[i].driver, all[i].err = c.open(ctx, &c.Subjects[i])
	}
	for range c.Rounds {
		for _, i := range rand.Perm(len(all)) {
			all[i].play(ctx, c)
		}
	}
	var results []Result
	var errs []error
	for i, s := range c.Subjects {
		switch {
		case all[i].err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", s.Name, all[i].err))
		case all[0].err == nil:
			results = append(results, summarise(c, s.Name, all[i].turns, all[0].turns))
		}
	}
	return results, errors.Join(errs...)
}

// contestant is a subject in its case.
type contestant struct {
	driver *driver
	turns  []turn
	err    error // that ended it
}

func (p *contestant) play(ctx context.Context, c *Case) {
	if p.err != nil {
		return
	}
	var t turn
	t, p.err = c.round(ctx, p.driver)
	p.turns = append(p.turns, t)
}

func (c *Case) round(ctx context.Context, d *driver) (turn, error) {
	if c.Flood > 0 {
		if err := d.nextKeys(ctx); err != nil {
			return turn{}, err
		}
	} else if _, err := d.run(ctx, time.Now(), c.Lead); err != nil {
		return turn{}, err
	}
	return d.take(ctx, c.Turn)
}

// open returns a limiter with the limit for which the subject's own pace is the
// load of the case.
func (c *Case) open(ctx context.Context, s *Subject) (*driver, error) {
	if c.Flood > 0 {
		return c.flooded(ctx, s)
	}
	if c.Factor == 0 {
		return c.limited(ctx, s, cmp.Or(c.Capacity, unlimited))
	}
	each, err := c.trial(ctx, s, unlimited)
	if err != nil {
		return nil, err
	}
	most := float64(c.Window) / float64(each) / c.Factor
	if c.Keys > 1 { // the busiest one is offered the factor of its limit
		most *= busiest(c.Keys)
	}
	return c.limited(ctx, s, min(max(int64(most), 1), unlimited))
}

// trial returns the time that a subject takes for a decision under a limit.
func (c *Case) trial(ctx context.Context, s *Subject, capacity int64) (time.Duration, error) {
	d, err := c.limited(ctx, s, capacity)
	if err != nil {
		return 0, err
	}
	defer d.close()
	t, err := d.take(ctx, min(c.Turn, 200*time.Millisecond))
	return max(time.Duration(t.time()), 1), err
}

// serial numbers limiters, so that no two share a counter.
var serial atomic.Int64

// limited opens a limiter, and gives it the state of a window under load.
func (c *Case) limited(ctx context.Context, s *Subject, capacity int64) (*driver, error) {
	l, err := s.Open(ctx, c.limit(capacity))
	if err != nil {
		return nil, err
	}
	d := c.driver(s, l)
	d.keys = keys(fmt.Sprintf("user:%d:", serial.Add(1)), c.Keys, c.Uniform)
	if l.Fill != nil && c.Keys <= 1 && c.Factor > 0 {
		units := float64(capacity) * c.Factor / float64(max(c.Slots, 1))
		if err := l.Fill(ctx, d.keys[0], max(int64(units), 1)); err != nil {
			d.close()
			return nil, err
		}
	}
	if c.Visit {
		for _, key := range d.keys {
			if _, err := l.Decide(ctx, key); err != nil {
				d.close()
				return nil, err
			}
		}
	}
	return d, nil
}

func (c *Case) limit(capacity int64) Limit {
	return Limit{Capacity: capacity, Window: c.Window, Slots: max(c.Slots, 1)}
}

func (c *Case) driver(s *Subject, l *Limiter) *driver {
	return &driver{Case: c, limiter: l, clients: cmp.Or(s.Clients, c.Clients, 1)}
}

func (d *driver) close() {
	if d != nil && d.limiter.Close != nil {
		d.limiter.Close()
	}
}

package measure

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// floodCapacity is what each key of a flood may still take.
	floodCapacity = 30
	// floodKeys bounds the keys of a turn.
	floodKeys = 5
)

// flooded returns a limiter for a flood. Where the state grows with the slots in
// use, a unit in each slot comes on top of the capacity, so that the state is
// that of a busy key.
func (c *Case) flooded(ctx context.Context, s *Subject) (*driver, error) {
	l, err := s.Open(ctx, c.limit(floodCapacity))
	if err == nil && l.Fill != nil {
		if l.Close != nil {
			l.Close()
		}
		l, err = s.Open(ctx, c.limit(floodCapacity+int64(c.Slots)))
	}
	if err != nil {
		return nil, err
	}
	return c.driver(s, l), nil
}

// nextKeys prepares new keys for a turn.
func (d *driver) nextKeys(ctx context.Context) error {
	d.keys = make([]string, floodKeys)
	for i := range d.keys {
		d.keys[i] = fmt.Sprintf("user:%d:0", serial.Add(1))
		if d.limiter.Fill != nil {
			if err := d.limiter.Fill(ctx, d.keys[i], 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// flood is the progress of a turn, which all clients share.
type flood struct {
	sent atomic.Int64
	keys atomic.Int64 // that get requests in this turn
	each int64        // requests of a key
}

func (d *driver) newFlood() *flood {
	f := &flood{each: int64(d.Flood * floodCapacity)}
	f.keys.Store(floodKeys)
	return f
}

// flood sends each key its requests. The turn ends with the last request of a
// key, because denials follow admissions.
func (c *client) flood(ctx context.Context, f *flood) {
	for {
		n := f.sent.Add(1) - 1
		number := n / f.each
		if n%f.each == 0 && c.over.Load() {
			f.keys.Store(min(number, f.keys.Load()))
		}
		if number >= f.keys.Load() {
			return
		}
		c.n = int(number)
		if n%int64(max(c.Sample, 1)) > 0 {
			c.decide(ctx)
			continue
		}
		sent := time.Now()
		c.decide(ctx)
		c.latencies = append(c.latencies, int64(time.Since(sent)))
	}
}

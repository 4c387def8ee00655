package subject

import (
	"context"

	"github.com/slidegate/slidegate/bench/compare/measure"
)

// Fleet returns the subjects as so many processes use them, each with its own
// limiter and connections. A process decides one request at a time, as an
// instance of a Lambda does, and the one that is idle for longest is next. So
// processes share no writes, and know of each other's only from answers.
func Fleet(processes int, subjects []measure.Subject) []measure.Subject {
	for i := range subjects {
		subjects[i].Open = fleet(processes, subjects[i].Open)
	}
	return subjects
}

type opener = func(context.Context, measure.Limit) (*measure.Limiter, error)

func fleet(processes int, open opener) opener {
	return func(ctx context.Context, l measure.Limit) (*measure.Limiter, error) {
		all, idle := make([]*measure.Limiter, processes), make(chan *measure.Limiter, processes)
		for i := range all {
			one, err := open(ctx, l)
			if err != nil {
				return nil, err
			}
			all[i] = one
			idle <- one
		}
		decide := func(ctx context.Context, key string) (bool, error) {
			one := <-idle
			defer func() { idle <- one }()
			return one.Decide(ctx, key)
		}
		return &measure.Limiter{Decide: decide, Fill: all[0].Fill, Calls: func() measure.Calls { return total(all) }}, nil
	}
}

// total returns what all of them have sent.
func total(all []*measure.Limiter) (sum measure.Calls) {
	for _, one := range all {
		c := one.Calls()
		sum.Calls, sum.Reads, sum.Writes = sum.Calls+c.Calls, sum.Reads+c.Reads, sum.Writes+c.Writes
	}
	return sum
}

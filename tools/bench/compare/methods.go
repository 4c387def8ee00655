package main

import (
	"context"
	"strconv"
	"sync"
	"time"
)

// fixed limits by windows that start at multiples of their length. It adds to
// the number of the window, and remembers for which window a key is full.
func fixed(q quota, add func(ctx context.Context, key string) (int64, error)) func(context.Context, string) (bool, error) {
	var full sync.Map
	return func(ctx context.Context, key string) (bool, error) {
		window := time.Now().UnixNano() / int64(q.window)
		if last, ok := full.Load(key); ok && last == window {
			return false, nil
		}
		n, err := add(ctx, inWindow(key, window))
		if err == nil && n > q.capacity {
			full.Store(key, window)
		}
		return err == nil && n <= q.capacity, err
	}
}

// twoCounts limits by the numbers of two windows, the older one weighted by how
// much of it a window that ends now still covers.
func twoCounts(
	q quota, both func(ctx context.Context, newer, older string) (n, before int64, err error),
) func(context.Context, string) (bool, error) {
	return func(ctx context.Context, key string) (bool, error) {
		now := time.Now().UnixNano()
		window := now / int64(q.window)
		n, before, err := both(ctx, inWindow(key, window), inWindow(key, window-1))
		covered := 1 - float64(now%int64(q.window))/float64(q.window)
		return err == nil && float64(before)*covered+float64(n) <= float64(q.capacity), err
	}
}

func inWindow(key string, window int64) string { return key + ":" + strconv.FormatInt(window, 10) }

// processes returns subjects as so many processes use them that share nothing,
// each with its own limiter and connections. A process decides one request at a
// time, as an instance of a Lambda does, and the one that is idle for longest is
// next. So each knows of the others' charges only from answers to its own.
func processes(n int, subjects []subject) (all []subject) {
	for _, s := range subjects {
		all = append(all, subject{s.name, func(ctx context.Context, q quota) (*limiter, error) {
			members, idle := make([]*limiter, n), make(chan *limiter, n)
			for i := range members {
				one, err := s.open(ctx, q)
				if err != nil {
					return nil, err
				}
				members[i] = one
				idle <- one
			}
			return &limiter{
				decide: func(ctx context.Context, key string) (bool, error) {
					one := <-idle
					defer func() { idle <- one }()
					return one.decide(ctx, key)
				},
				fill: members[0].fill,
				calls: func() (calls, writes int64) {
					for _, one := range members {
						c, w := one.calls()
						calls, writes = calls+c, writes+w
					}
					return calls, writes
				},
				close: func() {
					for _, one := range members {
						one.shut()
					}
				},
			}, nil
		}})
	}
	return all
}

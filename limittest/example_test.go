package limittest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limittest"
)

func ExampleClock() {
	clock := limittest.NewClock(time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC))
	lim, err := slidegate.New(slidegate.SlidingWindow(1, time.Minute), slidegate.WithClock(clock.Now))
	if err != nil {
		panic(err)
	}
	for _, later := range []time.Duration{0, time.Minute, time.Second} {
		clock.Advance(later)
		r, err := lim.Allow(context.Background(), "user:7")
		fmt.Println(clock.Now().Format(time.TimeOnly), r.Allowed, err)
	}
	// Output:
	// 12:00:00 true <nil>
	// 12:01:00 false <nil>
	// 12:01:01 true <nil>
}

func ExampleStore() {
	store := limittest.NewStore(
		limittest.Deny(3*time.Second),
		limittest.Fail(errors.New("connection refused")), // and so on
	)
	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute), slidegate.WithName("api"), slidegate.WithStore(store),
		slidegate.FailOpen(), slidegate.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		panic(err)
	}
	for range 2 {
		r, err := lim.Allow(context.Background(), "user:7")
		fmt.Println(r.Allowed, r.RetryAfter, r.Degraded, err)
	}
	// Output:
	// false 3s false <nil>
	// true 0s true <nil>
}

func ExampleRecorder() {
	var recorder limittest.Recorder
	lim, err := slidegate.New(slidegate.SlidingWindow(1, time.Minute), slidegate.WithObserver(recorder.Observe))
	if err != nil {
		panic(err)
	}
	for range 2 {
		if _, err := lim.Allow(context.Background(), "user:7"); err != nil {
			panic(err)
		}
	}
	for _, e := range recorder.Events() {
		fmt.Println(e.Rule, e.Key, e.Reason, e.Result.Allowed)
	}
	// Output:
	// default user:7 limited true
	// default user:7 limited false
}

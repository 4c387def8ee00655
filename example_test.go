package slidegate_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limittest"
)

// Each user may send 100 requests in any minute.
func Example() {
	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	r, err := lim.Allow(context.Background(), "user:7")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Allowed, r.Remaining)
	// Output: true 99
}

// Several limits are charged all or none: a burst a second, and a quota a month
// in the customer's time zone.
func ExampleNew() {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		log.Fatal(err)
	}
	clock := limittest.NewClock(time.Date(2026, 1, 31, 22, 59, 58, 0, time.UTC)) // two seconds before February in Berlin
	lim, err := slidegate.New(
		slidegate.SlidingWindow(2, time.Second),
		slidegate.PerMonth(3, berlin),
		slidegate.WithName("api"), slidegate.WithClock(clock.Now),
	)
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		for range 3 {
			r, err := lim.Allow(context.Background(), "customer:7")
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(r.Allowed, r.RetryAfter, r.Limits[0].Remaining, r.Limits[1].Remaining)
		}
		clock.Advance(2 * time.Second)
	}
	// Output:
	// true 0s 1 2
	// true 0s 0 1
	// false 1.1s 0 1
	// true 0s 1 2
	// true 0s 0 1
	// false 1.1s 0 1
}

// An error says which call is wrong, and what to write.
func ExampleNew_error() {
	_, err := slidegate.New(slidegate.SlidingWindow(100, 60))
	fmt.Println(err)
	// Output: slidegate: SlidingWindow(100, 60ns): the window must be from 100ms to 3650d: write 60*time.Second
}

// Limiters on one store share the counters of limits with equal names: here two
// parts of a program share a budget.
func ExampleWithStore() {
	store := slidegate.NewMemory(0) // or a store of package dynamostore or redisstore
	budget := slidegate.PerDay(10, time.UTC)
	reports, err := slidegate.New(budget, slidegate.WithName("mails"), slidegate.WithStore(store))
	if err != nil {
		log.Fatal(err)
	}
	alerts, err := slidegate.New(budget, slidegate.WithName("mails"), slidegate.WithStore(store))
	if err != nil {
		log.Fatal(err)
	}
	for _, lim := range []*slidegate.Limiter{reports, alerts} {
		r, err := lim.Allow(context.Background(), "customer:7")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.Remaining)
	}
	// Output:
	// 9
	// 8
}

// While the store fails, FailLocal counts in this process: four processes allow
// a quarter of the limit each.
func ExampleFailLocal() {
	store := limittest.NewStore(limittest.Fail(errors.New("connection refused")))
	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute), slidegate.WithName("api"), slidegate.WithStore(store),
		slidegate.FailLocal(4), slidegate.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	r, err := lim.Allow(context.Background(), "user:7")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Allowed, r.Remaining, r.Degraded)
	// Output: true 24 true
}

// A store that does not answer within 10 ms lets the request through.
func ExampleWithDeadline() {
	store := limittest.NewStore(limittest.Hang())
	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute), slidegate.WithName("api"), slidegate.WithStore(store),
		slidegate.WithDeadline(10*time.Millisecond), slidegate.FailOpen(),
		slidegate.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	r, err := lim.Allow(context.Background(), "user:7")
	fmt.Println(r.Allowed, r.Degraded, err)
	// Output: true true <nil>
}

// FailError leaves it to the caller what a request gets that the store does not
// decide.
func ExampleFailError() {
	store := limittest.NewStore(limittest.Fail(errors.New("connection refused")))
	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute), slidegate.WithName("api"), slidegate.WithStore(store),
		slidegate.FailError())
	if err != nil {
		log.Fatal(err)
	}
	_, err = lim.Allow(context.Background(), "user:7")
	fmt.Println(err)
	// Output: slidegate: limiter api: connection refused
}

// An observer counts decisions, here by their outcome.
func ExampleWithObserver() {
	decisions := map[bool]int{} // a program with several goroutines needs counters that are safe for them
	observe := func(_ context.Context, e slidegate.Event) {
		if e.Err == nil {
			decisions[e.Result.Allowed]++
		}
	}
	lim, err := slidegate.New(slidegate.SlidingWindow(2, time.Minute), slidegate.WithObserver(observe))
	if err != nil {
		log.Fatal(err)
	}
	for range 5 {
		if _, err := lim.Allow(context.Background(), "user:7"); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("allowed", decisions[true], "denied", decisions[false])
	// Output: allowed 2 denied 3
}

// A denial is a result: it says when the same request would be allowed.
func ExampleLimiter_Allow() {
	clock := limittest.NewClock(time.Date(2026, 1, 5, 12, 0, 10, 0, time.UTC))
	lim, err := slidegate.New(slidegate.SlidingWindow(2, time.Minute), slidegate.WithClock(clock.Now))
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		r, err := lim.Allow(context.Background(), "user:7")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.Allowed, r.Remaining, r.RetryAfter)
		clock.Advance(10 * time.Second)
	}
	// Output:
	// true 1 0s
	// true 0 0s
	// false 0 41s
}

// A request of 3 units takes them from each limit.
func ExampleLimiter_AllowN() {
	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	r, err := lim.AllowN(context.Background(), "user:7", 3)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Allowed, r.Remaining)
	// Output: true 97
}

// A request takes one unit of the first limit, and a unit for each token of the
// second. The costs come in the order that New was given.
func ExampleLimiter_AllowCosts() {
	clock := limittest.NewClock(time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC))
	lim, err := slidegate.New(
		slidegate.SlidingWindow(10, time.Minute).WithName("requests"),
		slidegate.SlidingWindow(4000, time.Minute).WithName("llm-tokens"),
		slidegate.WithName("chat"), slidegate.WithClock(clock.Now),
	)
	if err != nil {
		log.Fatal(err)
	}
	for _, tokens := range []int64{3000, 2000} {
		r, err := lim.AllowCosts(context.Background(), "user:7", 1, tokens)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.Allowed, r.RetryAfter)
		for _, l := range r.Limits {
			fmt.Println(" ", l.Name, l.Allowed, l.Remaining)
		}
	}
	// Output:
	// true 0s
	//   requests true 9
	//   llm-tokens true 1000
	// false 1m1s
	//   requests true 9
	//   llm-tokens false 1000
}

// A replay decides at the times of a log.
func ExampleLimiter_AllowAt() {
	lim, err := slidegate.New(slidegate.SlidingLog(1, time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	start := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for _, later := range []time.Duration{0, 30 * time.Second, time.Minute} {
		r, err := lim.AllowAt(context.Background(), start.Add(later), "user:7")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(later, r.Allowed)
	}
	// Output:
	// 0s true
	// 30s false
	// 1m0s true
}

// Peek shows what is left, and charges nothing.
func ExampleLimiter_Peek() {
	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		r, err := lim.Peek(context.Background(), "user:7")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.Remaining)
	}
	// Output:
	// 100
	// 100
}

// Wait returns when the request may be sent, or at once if its context would end
// before. (The clock of this example stands still. A program needs none.)
func ExampleLimiter_Wait() {
	clock := limittest.NewClock(time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC))
	lim, err := slidegate.New(slidegate.LeakyBucket(1, time.Minute, 5), slidegate.WithClock(clock.Now))
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for range 2 {
		fmt.Println(lim.Wait(ctx, "api.example.com"))
	}
	fmt.Println(lim.WaitN(ctx, "api.example.com", 6))
	// Output:
	// <nil>
	// slidegate: limiter default: the next turn is in 1m0s: context deadline exceeded
	// slidegate: limiter default: the request costs more than the limit can ever allow
}

func ExampleLimiter_Reset() {
	lim, err := slidegate.New(slidegate.SlidingWindow(1, time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for range 2 {
		r, err := lim.Allow(ctx, "user:7")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.Allowed)
		if err := lim.Reset(ctx, "user:7"); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// true
	// true
}

// The tokens of an answer are known only afterwards: the request reserves the
// most that it may cost, and settles what it did cost.
func ExampleLimiter_Reserve() {
	lim, err := slidegate.New(slidegate.SlidingWindow(10_000, time.Hour))
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	r, err := lim.Reserve(ctx, "user:7", 4096)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Allowed, r.Remaining)
	if err := r.Settle(ctx, 700); err != nil {
		log.Fatal(err)
	}
	left, err := lim.Peek(ctx, "user:7")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(left.Remaining)
	// Output:
	// true 5904
	// 9300
}

// A job that fails returns its units. After Settle, the deferred Cancel changes
// nothing.
func ExampleReservation_Cancel() {
	lim, err := slidegate.New(slidegate.PerDay(10, time.UTC))
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	run := func(job func() error) error {
		r, err := lim.Reserve(ctx, "customer:7")
		if err != nil || !r.Allowed {
			return err
		}
		defer r.Cancel(ctx)
		if err := job(); err != nil {
			return err
		}
		return r.Settle(ctx, 1)
	}
	fmt.Println(run(func() error { return errors.New("the job failed") }))
	fmt.Println(run(func() error { return nil }))
	left, err := lim.Peek(ctx, "customer:7")
	fmt.Println(left.Remaining, err)
	// Output:
	// the job failed
	// <nil>
	// 9 <nil>
}

// trace charges one unit at each of these times after noon, and prints the
// answers.
func trace(limit slidegate.Limit, times ...time.Duration) {
	lim, err := slidegate.New(limit)
	if err != nil {
		log.Fatal(err)
	}
	for _, later := range times {
		r, err := lim.AllowAt(context.Background(), noon.Add(later), "user:7")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(later, describe(r))
	}
}

// A unit counts for up to one slot longer than the window: here for 61 seconds.
func ExampleSlidingWindow() {
	trace(slidegate.SlidingWindow(2, time.Minute), 0, 59*time.Second, 60*time.Second, 61*time.Second)
	// Output:
	// 0s allowed, 1 left
	// 59s allowed, 0 left
	// 1m0s denied, 0 left, retry 1s
	// 1m1s allowed, 0 left
}

// All units are free again when the next window begins.
func ExampleFixedWindow() {
	trace(slidegate.FixedWindow(2, time.Minute), 58*time.Second, 59*time.Second, 60*time.Second, 61*time.Second, 62*time.Second)
	// Output:
	// 58s allowed, 1 left
	// 59s allowed, 0 left
	// 1m0s allowed, 1 left
	// 1m1s allowed, 0 left
	// 1m2s denied, 0 left, retry 58s
}

// Half a minute into its window, a half of the window before still counts.
func ExampleSlidingWindowCounter() {
	trace(slidegate.SlidingWindowCounter(2, time.Minute), 30*time.Second, 40*time.Second, 60*time.Second, 90*time.Second, 91*time.Second)
	// Output:
	// 30s allowed, 1 left
	// 40s allowed, 0 left
	// 1m0s denied, 0 left, retry 30s
	// 1m30s allowed, 0 left
	// 1m31s denied, 0 left, retry 29s
}

// Each unit counts for exactly the window.
func ExampleSlidingLog() {
	trace(slidegate.SlidingLog(2, time.Minute), 0, 59*time.Second, 60*time.Second, 61*time.Second)
	// Output:
	// 0s allowed, 1 left
	// 59s allowed, 0 left
	// 1m0s allowed, 0 left
	// 1m1s denied, 0 left, retry 58s
}

// Two requests pass at once, and then one every half a second.
func ExampleTokenBucket() {
	trace(slidegate.TokenBucket(2, time.Second, 2), 0, 0, 0, 500*time.Millisecond)
	// Output:
	// 0s allowed, 1 left
	// 0s allowed, 0 left
	// 0s denied, 0 left, retry 500ms
	// 500ms allowed, 0 left
}

// Admitted requests leave every half a second.
func ExampleLeakyBucket() {
	trace(slidegate.LeakyBucket(2, time.Second, 2), 0, 0, 0, 500*time.Millisecond)
	// Output:
	// 0s allowed, 1 left
	// 0s allowed, 0 left, delay 500ms
	// 0s denied, 0 left, retry 500ms
	// 500ms allowed, 0 left, delay 500ms
}

// The day ends at midnight in Berlin, which is eleven hours after noon in UTC.
func ExamplePerDay() {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		log.Fatal(err)
	}
	trace(slidegate.PerDay(1, berlin), 0, time.Hour, 11*time.Hour)
	// Output:
	// 0s allowed, 0 left
	// 1h0m0s denied, 0 left, retry 10h0m0s
	// 11h0m0s allowed, 0 left
}

// The week ends on Sunday.
func ExamplePerWeek() {
	trace(slidegate.PerWeek(1, time.UTC), 0, 24*time.Hour, 6*24*time.Hour+12*time.Hour)
	// Output:
	// 0s allowed, 0 left
	// 24h0m0s denied, 0 left, retry 132h0m0s
	// 156h0m0s allowed, 0 left
}

// Months of this customer begin on the 6th.
func ExampleLimit_WithAnchor() {
	trace(slidegate.PerMonth(1, time.UTC).WithAnchor(6), 0, time.Hour, 12*time.Hour)
	// Output:
	// 0s allowed, 0 left
	// 1h0m0s denied, 0 left, retry 11h0m0s
	// 12h0m0s allowed, 0 left
}

// Slots of a hundred milliseconds free units earlier than slots of a second.
func ExampleLimit_WithSlots() {
	trace(slidegate.SlidingWindow(1, time.Minute).WithSlots(100*time.Millisecond), 0, 60*time.Second, 60*time.Second+100*time.Millisecond)
	// Output:
	// 0s allowed, 0 left
	// 1m0s denied, 0 left, retry 100ms
	// 1m0.1s allowed, 0 left
}

package slidegate_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/slidegate/slidegate"
)

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

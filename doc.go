// Package slidegate limits how often something may happen: requests of a
// client, tokens of a user, calls to another API.
//
//	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute))
//	r, err := lim.Allow(ctx, "user:7")
//	if err == nil && !r.Allowed { … } // try again in r.RetryAfter
//
// A [Limiter] has one limit, or several that are charged all or none, and
// counts each key by itself. A sliding window is exact: no window of any
// position holds more than the limit. Counters are kept in memory, or in
// DynamoDB or Redis, where all processes share them. A denial is a result. An
// error means that there is no decision: the caller has hung up, or the store
// failed and the limiter has [FailError].
//
// Package limithttp limits the requests to an HTTP handler, and those of an HTTP
// client. Package gate decides by many rules. Package limittest helps to test
// code that uses any of them.
//
// # Which algorithm
//
// Take [SlidingWindow] unless you know better. The columns say how many units a
// key can get in the worst window, and what it takes to store one key.
//
//	                      worst window  state         use it for
//	SlidingWindow         n             ≤ 60 numbers  limits that must hold
//	SlidingLog            n             n numbers     few units, exactly
//	FixedWindow           2 × n         1 number      coarse budgets
//	PerDay … PerMonth     2 × n         1 number      quotas by the calendar
//	SlidingWindowCounter  almost 2 × n  2 numbers     very many keys
//	TokenBucket           burst + n     1 number      steady rates with bursts
//	LeakyBucket           queue + n     1 number      sending evenly
//
// A SlidingWindow counts units for up to one slot longer than the window. So a
// busy key gets 98% of n in a minute, an hour or a day, and 91% in a second.
// [Limit.WithSlots] narrows the slots. Units of windows can be returned, see
// [Limiter.Reserve]; those of buckets and logs cannot. A LeakyBucket admits a
// request before its turn, and [Limiter.Wait] and package limithttp wait for it.
//
// # Which store
//
//	             shared by        a decision takes  and costs
//	Memory       one process      0.2 µs            no allocation
//	dynamostore  all of a region  a few ms          a write unit: about 0.63 USD
//	                                                for a million; denials almost
//	                                                nothing
//	redisstore   all              a round trip      a script of 3 to 15 µs
//
// All three decide alike: they pass one suite of tests. They differ otherwise:
//
//   - Memory is lost at a restart. Behind a load balancer each of k processes
//     has limits of its own, so give each a k-th of them, or share a store.
//   - DynamoDB has nothing to run. One key takes about 1,000 admitted requests
//     a second. A process may deny for up to ten seconds what another has
//     returned or reset.
//   - Redis is faster, and loses what its server loses: a failover may admit
//     the last requests again.
//
// # When the store fails
//
// A store other than a Memory has 250 ms for a decision ([WithDeadline]). Then,
// or if it fails, the [ErrorPolicy] decides, the failure is logged, and the
// result is Degraded:
//
//	FailLocal   counts a share of the limit in this process: the default,
//	            for 20 processes
//	FailOpen    allows
//	FailClosed  denies
//
// A limiter with [FailError] returns the error instead.
//
// Give FailLocal the number of processes that you run. A store that is
// full or contended is no outage: FailLocal then denies, because its count
// would come on top of the store's. [Limiter.Peek], [Limiter.Reset] and
// [Reservation.Settle] return errors under every policy.
//
// # From memory to DynamoDB
//
// Name the limiter, because others may use the table, and give it a store:
//
//	store := dynamostore.New(dynamodb.NewFromConfig(cfg), "counters")
//	lim, err := slidegate.New(
//		slidegate.SlidingWindow(100, time.Minute), slidegate.WithName("api"),
//		slidegate.WithStore(store), slidegate.FailLocal(4), // for four processes
//	)
//
// Everything else stays: keys, results, tests. Counters start at zero, and the
// error policy begins to matter. A limit that gets another window or algorithm
// later starts new counters; one with another n keeps them.
//
// # Time
//
// Limiters use the clock of their store, or in memory monotonic time, so that a
// step of the machine's clock neither frees nor blocks a key.
// [Limiter.AllowAt] takes the time from the caller, and [WithClock] from a
// function. A limiter that is made in a bubble of testing/synctest uses the
// bubble's time.
package slidegate

// Package gate decides requests by many rules. All rules that match a request
// apply, each with a key of its own, and the answer reports the tightest limit.
// If one rule denies, the windows of the others are refunded.
//
//	g, err := gate.New(gate.Rules{Rules: []gate.Rule{
//		{Name: "login", When: gate.Match{Methods: []string{"POST"}, Paths: []string{"/login"}},
//			Key: "ip:{ip}", Limits: []slidegate.Limit{slidegate.SlidingWindow(5, time.Minute)}},
//		{Name: "per-ip", Key: "ip:{ip}", Limits: []slidegate.Limit{slidegate.SlidingWindow(100, time.Minute)}},
//	}})
//	…
//	http.Handle("/", limithttp.GateMiddleware(g)(next))
//
// Use a [slidegate.Limiter] if the program knows the key and the limits. Use a
// gate if rules choose by path, method, caller or claim, or if operators change
// the rules without a deployment: package rulesfile follows a YAML file, and
// package rulestable a table in DynamoDB.
//
// # What a decision charges
//
// Rules are charged in their order, each with all its limits or none: put those of
// single callers first, and shared budgets last, so that a caller who is denied
// takes nothing of the budget. [Rule.Atomic] charges several rules all or none.
// Limits by buckets and logs keep what they took from a request that a later rule
// denies.
//
// # After the answer
//
// A rule with RefundOn returns its units if the answer has one of the statuses
// that it lists. A limit with settle: true, in a file or table of rules, is
// corrected to the true cost. The middleware of package limithttp reports the
// status and the cost to the gate. Other programs call [Gate.Finish].
package gate

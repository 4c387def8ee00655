package watch

import (
	"cmp"
	"regexp"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
)

// Alarm rings once Bad of the last Of periods have a value of at least Threshold.
// A period without a value is a good one.
type Alarm struct {
	Name      string // a construct's id, such as SlowStore
	Series    Series
	Formula   string // of the series by its ID; empty for the series itself
	Threshold float64
	Bad, Of   int
	Period    time.Duration
	Says      string // what is wrong: one or two sentences
}

// Settings of a limiter decide which alarms it has.
type Settings struct {
	Deadline        time.Duration // of a decision; 0 for the default
	MaxWritesPerDay int           // 0 for no alarm
	WithoutMetrics  bool          // leaves the alarms on AWS's own metrics
}

// WritesADay and AccountConcurrency are the names of alarms that some limiters
// lack.
const (
	WritesADay         = "WritesADay"
	AccountConcurrency = "AccountConcurrency"
)

// Alarms returns the alarms of a limiter. Those on AWS's own metrics come first.
func Alarms(s Settings) []Alarm {
	minutes := func(name string, series Series, formula string, threshold float64, says string) Alarm {
		return Alarm{name, series, formula, threshold, 3, 5, time.Minute, says}
	}
	all := []Alarm{
		minutes("ThrottledWrites", Series{Counters, "WriteThrottleEvents", Sum}, "", 1,
			"DynamoDB throttles writes to the counters table. The on_error of the rules decides these requests."),
		// An authorizer answers 401 by an error, so some errors are the callers'.
		minutes("FunctionErrors", Series{Function, "Errors", Average}, "", 0.5,
			"At least half of the authorizer's calls fail. API Gateway answers 500, or 401 if the credentials were refused."),
		minutes("LambdaThrottles", Series{Function, "Throttles", Sum}, "", 1,
			"Lambda throttles the authorizer. API Gateway answers these requests with 500."),
		minutes(AccountConcurrency, Series{Region, "ConcurrentExecutions", Maximum}, "100 * concurrentExecutions / SERVICE_QUOTA(concurrentExecutions)", 80,
			"The functions of this account use 80% of its concurrency in this region. At 100% Lambda throttles them, the authorizer too."),
	}
	if s.WithoutMetrics {
		return all
	}
	all = append(all,
		minutes("Degraded", own(metric.Degraded), "", 1,
			"Requests were decided by on_error, without rules, or without the keys to verify a token."),
		minutes("SlowStore", own(metric.StoreLatency), "", cmp.Or(s.Deadline, engine.DefaultDeadline).Seconds()*1000/2,
			"One in a hundred calls of the counters table takes over half the deadline of a decision."),
		minutes("StaleRules", own(metric.RulesAge), "", 60,
			"The authorizer could not read its rules for a minute. It decides by older ones."),
		Alarm{"NearLimit", own(metric.NearLimit), "", 1, 15, 15, time.Minute,
			"A warning: for 15 minutes running, callers took units above 80% of a limit."},
	)
	if s.MaxWritesPerDay > 0 {
		all = append(all, Alarm{WritesADay, own(metric.Writes), "", float64(s.MaxWritesPerDay), 1, 1, 24 * time.Hour,
			"The authorizer wrote more to DynamoDB in 24 hours than was planned for."})
	}
	return all
}

// page has a section on each alarm.
const page = "https://github.com/slidegate/slidegate/blob/main/docs/runbook.md"

// Anchor returns the alarm's section of docs/runbook.md: slow-store.
func (a Alarm) Anchor() string {
	return strings.ToLower(regexp.MustCompile(`\B[A-Z]`).ReplaceAllString(a.Name, "-$0"))
}

// Description returns what is wrong, and where the runbook is.
func (a Alarm) Description() string { return a.Says + " Runbook: " + page + "#" + a.Anchor() }

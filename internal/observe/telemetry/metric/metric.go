// Package metric lists the metrics of a limiter: what counts, when, in which
// unit, and who exports it. Exporters, alarms, the dashboard, the construct for
// TypeScript and docs/operations.md all follow this list.
package metric

const (
	// Namespace is that of all metrics in CloudWatch.
	Namespace = "Slidegate"
	// Limiter is the dimension of all metrics. Its value tells the limiters of an
	// account apart.
	Limiter = "Limiter"
	// Rule is the second dimension of the metrics that also count by rule. A key
	// is no dimension: each value of a dimension is a metric that is paid for.
	Rule = "Rule"
)

// Kind says how values add up.
type Kind string

// The kinds of metrics.
const (
	Counter   Kind = "counter"   // grows by each event
	Gauge     Kind = "gauge"     // a state
	Histogram Kind = "histogram" // a distribution
)

// Unit is a unit of CloudWatch.
type Unit string

// The units of metrics. Prometheus and OpenTelemetry count times in seconds.
const (
	Count        Unit = "Count"
	Milliseconds Unit = "Milliseconds"
	Seconds      Unit = "Seconds"
	None         Unit = "None"
)

// Exporter is one of those who report metrics.
type Exporter uint8

// The exporters, as a set of bits.
const (
	Lambda  Exporter = 1 << iota // CloudWatch, by the authorizer's log
	Serve                        // Prometheus, by slidegate serve --admin
	Library                      // OpenTelemetry, by limitotel
)

// Metric describes one metric.
type Metric struct {
	Name       string // in CloudWatch, such as "StoreLatency"
	Prometheus string // such as "slidegate_store_latency_seconds"
	Kind       Kind
	Unit       Unit
	ByRule     bool // also for each rule
	Exporters  Exporter
	Help       string // when it counts: one sentence
}

// The names of metrics in CloudWatch.
const (
	Decisions       = "Decisions"
	Denied          = "Denied"
	ShadowDenied    = "ShadowDenied"
	NearLimit       = "NearLimit"
	Degraded        = "Degraded"
	Rejected        = "Rejected"
	Refunded        = "Refunded"
	Settled         = "Settled"
	SnapshotDenials = "SnapshotDenials"
	StoreAttempts   = "StoreAttempts"
	StoreLatency    = "StoreLatency"
	Writes          = "Writes"
	Reads           = "Reads"
	RulesVersion    = "RulesVersion"
	RulesAge        = "RulesAge"
	BreakerOpen     = "BreakerOpen"
	LocalKeys       = "LocalKeys"

	RulesBreakerOpen = "RulesBreakerOpen"
)

// All has every metric, in the order of the documentation.
var All = []Metric{
	{Decisions, "slidegate_decisions_total", Counter, Count, false, Lambda | Serve | Library,
		"Requests that were decided."},
	{Denied, "slidegate_denied_total", Counter, Count, true, Lambda | Serve | Library,
		"Requests that were denied, by the rule that denied them."},
	{ShadowDenied, "slidegate_shadow_denied_total", Counter, Count, true, Lambda | Serve | Library,
		"Requests that a shadow rule or a candidate capacity would have denied."},
	{NearLimit, "slidegate_near_limit_total", Counter, Count, true, Lambda | Serve | Library,
		"Units that were taken above 80% of a limit."},
	{Degraded, "slidegate_degraded_total", Counter, Count, false, Lambda | Serve | Library,
		"Decisions that on_error made, or that lacked rules or keys to verify a token."},
	{Rejected, "slidegate_rejected_total", Counter, Count, false, Lambda | Serve,
		"Requests that no rule denied, and that were refused for their credentials."},
	{Refunded, "slidegate_refunded_total", Counter, Count, false, Lambda | Serve | Library,
		"Charges that were returned, because a later rule denied the request or by its outcome."},
	{Settled, "slidegate_settled_total", Counter, Count, false, Serve | Library,
		"Charges that were corrected to the true cost."},
	{SnapshotDenials, "slidegate_snapshot_denials_total", Counter, Count, false, Lambda | Serve | Library,
		"Denials that an earlier answer of the store proved, without a call."},
	{StoreAttempts, "slidegate_store_attempts_total", Counter, Count, false, Lambda | Serve | Library,
		"Requests that were sent to the store, with or without an answer: charges, corrections, and renewals of places in flight."},
	{StoreLatency, "slidegate_store_latency_seconds", Histogram, Milliseconds, false, Lambda | Serve | Library,
		"The time from such a request to its answer or failure."},
	{Writes, "slidegate_writes_total", Counter, Count, false, Lambda | Serve,
		"Requests to DynamoDB that write."},
	{Reads, "slidegate_reads_total", Counter, Count, false, Lambda | Serve,
		"Requests to DynamoDB that read: counters, rules, overrides and API keys."},
	{RulesVersion, "slidegate_rules_version", Gauge, None, false, Lambda | Serve,
		"The version of the rules in force, by their table."},
	{RulesAge, "slidegate_rules_age_seconds", Gauge, Seconds, false, Lambda | Serve,
		"The time since the rules in force were last found to be the newest."},
	{BreakerOpen, "slidegate_breaker_open", Gauge, None, false, Lambda | Serve,
		"1 while the circuit breaker of the counters keeps requests from a store that does not answer."},
	// In the Lambda it is a field of the line, because a metric is paid for.
	{RulesBreakerOpen, "slidegate_rules_breaker_open", Gauge, None, false, Serve,
		"1 while the circuit breaker of the rules table keeps lookups from a table that does not answer."},
	{LocalKeys, "slidegate_local_keys", Gauge, Count, false, Lambda | Serve,
		"Keys that this process counted by itself in its latest outages, by on_error: local."},
}

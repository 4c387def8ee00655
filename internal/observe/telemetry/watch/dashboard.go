package watch

import "github.com/slidegate/slidegate/internal/observe/telemetry/metric"

// Section is a heading of the dashboard, a row of graphs of equal width, and below
// it one of tables.
type Section struct {
	Title  string
	Graphs []Graph
	Tables []Table
}

// Table is the answer to a query of CloudWatch Logs Insights on the limiter's log.
// %s in the query stands for the limiter.
type Table struct {
	Title string
	Query string
}

// Graph is a diagram over time. Right has its axis on the right.
type Graph struct {
	Title       string
	Left, Right []Line
	Mark        string // the alarm whose threshold is drawn
}

// Line is a line of a graph. A counter may lack a value for a minute in which it
// counted nothing: FILL adds the 0.
type Line struct {
	Label   string // empty for the name of the first metric
	Formula string // of the series by their IDs; empty for the only one
	Series  []Series
}

// Dashboard is in the order of the questions that an operator asks.
var Dashboard = []Section{
	{Title: "Who is denied", Graphs: []Graph{
		{Title: "Requests", Left: of(metric.Decisions, metric.Denied, metric.ShadowDenied, metric.Rejected)},
		{Title: "Denied, by rule", Left: byRule(metric.Denied)},
		{Title: "Would be denied: shadows, candidates", Left: byRule(metric.ShadowDenied)},
		{Title: "Units above 80% of a limit, by rule", Left: append(of(metric.NearLimit), byRule(metric.NearLimit)...)},
	}, Tables: []Table{
		{"Keys denied most", topKeys + `unnest line.top_denied into denied | filter denied.count > 0 | stats sum(denied.count) as times by denied.rule, denied.key | sort times desc | limit 10`},
		{"Keys nearest their limits", topKeys + `unnest line.top_near into near | filter near.count > 0 | stats max(near.share) as used by near.rule, near.key | sort used desc | limit 10`},
	}},
	{Title: "What it costs", Graphs: []Graph{
		{Title: "Writes for a decision", Left: []Line{
			{"writes for a decision", "FILL(writes, 0) / decisions", []Series{own(metric.Writes), own(metric.Decisions)}},
		}},
		{Title: "Denials without a write (%)", Left: []Line{
			{"% of the denials", "100 * FILL(snapshotDenials, 0) / denied", []Series{own(metric.SnapshotDenials), own(metric.Denied)}},
		}},
		{Title: "Requests to DynamoDB", Left: of(metric.Writes, metric.Reads, metric.StoreAttempts, metric.Refunded)},
		{Title: "Units of counters on the bill", Left: lines(
			Series{Counters, "ConsumedWriteCapacityUnits", Sum}, Series{Counters, "ConsumedReadCapacityUnits", Sum})},
	}},
	{Title: "Health", Graphs: []Graph{
		{Title: "Latency of DynamoDB (ms)", Mark: "SlowStore", Left: []Line{
			{P50, "", []Series{{Limiter, metric.StoreLatency, P50}}}, {P99, "", []Series{own(metric.StoreLatency)}},
		}},
		{Title: "Without DynamoDB", Left: of(metric.Degraded), Right: of(metric.BreakerOpen, metric.LocalKeys)},
		{Title: "Throttled, failed", Left: []Line{
			{"throttled writes", "", []Series{{Counters, "WriteThrottleEvents", Sum}}},
			{"throttled reads", "", []Series{{Counters, "ReadThrottleEvents", Sum}}},
			{"throttled calls of the authorizer", "", []Series{{Function, "Throttles", Sum}}},
			{"errors of the authorizer", "", []Series{{Function, "Errors", Sum}}},
		}},
		{Title: "Concurrency", Left: []Line{
			{"authorizer", "", []Series{{Function, "ConcurrentExecutions", Maximum}}},
			{"account", "", []Series{{Region, "ConcurrentExecutions", Maximum}}},
			{"80% of the account's quota", "0.8 * SERVICE_QUOTA(concurrentExecutions)", []Series{{Region, "ConcurrentExecutions", Maximum}}},
		}},
	}},
	{Title: "Rules", Graphs: []Graph{
		{Title: "Version in force", Left: []Line{
			{"newest", "", []Series{own(metric.RulesVersion)}}, {"oldest", "", []Series{{Limiter, metric.RulesVersion, Minimum}}},
		}},
		{Title: "Age (s)", Mark: "StaleRules", Left: of(metric.RulesAge)},
	}},
}

// topKeys begins a query on the lines that package telemetry writes about keys.
const topKeys = `filter msg = "top keys" and ` + metric.Limiter + ` = "%s" | fields jsonParse(@message) as line | `

// of returns a line for each of the limiter's own metrics.
func of(names ...string) (all []Line) {
	for _, name := range names {
		all = append(all, lines(own(name))...)
	}
	return all
}

// byRule returns a line for each rule, which CloudWatch searches.
func byRule(name string) []Line { return lines(Series{Rules, name, Sum}) }

func lines(series ...Series) (all []Line) {
	for _, s := range series {
		all = append(all, Line{Series: []Series{s}})
	}
	return all
}

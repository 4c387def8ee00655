package report

import (
	"fmt"
	"strings"

	"github.com/slidegate/slidegate/bench/compare/cases"
	"github.com/slidegate/slidegate/bench/compare/measure"
	"github.com/slidegate/slidegate/bench/compare/subject"
)

// target is a figure that Slidegate should reach.
type target struct {
	work   string
	id     string // of the case
	figure figure
	want   float64
	most   bool // the figure should be at most that, and otherwise at least
	// reason says why the target is missed, with what was measured to know it.
	reason string
}

// figure is a number of a result, and how it is written.
type figure struct {
	value func(r *measure.Result) float64
	text  func(v float64) string
	unit  string
}

func (f *figure) full(v float64) string { return f.text(v) + f.unit }

// The figures. In memory a ratio is a cost: how many times the bare operation.
// Behind a server it is a speed: the share of the bare operation's decisions a
// second.
var (
	cost   = figure{func(r *measure.Result) float64 { return r.Ratio }, number, " ×"}
	speed  = figure{func(r *measure.Result) float64 { return 1 / r.Ratio }, number, " of bare"}
	faster = figure{speed.value, number, " ×"}
	cpu    = figure{func(r *measure.Result) float64 { return r.CPURat }, number, " × CPU"}
	tail   = figure{func(r *measure.Result) float64 { return r.P99Rat }, number, " × p99"}
	writes = figure{func(r *measure.Result) float64 { return r.Writes }, thousandths, " writes"}
	calls  = figure{func(r *measure.Result) float64 { return r.Calls }, thousandths, " calls"}
	allocs = figure{func(r *measure.Result) float64 { return r.Allocs }, thousands, " allocations"}
	each   = figure{func(r *measure.Result) float64 { return r.Time }, duration, ""}
	script = figure{func(r *measure.Result) float64 { return r.Scripts }, duration, " in scripts"}
	lines  = figure{func(r *measure.Result) float64 { return subject.ReplayLines / r.Time * 1e9 }, thousands, " lines/s"}
)

// Targets are in the order of the table.
var targets = []target{
	{"memory, one key, half of the limit", cases.MemoryHot, cost, 1.3, true, reasonMemory},
	{"", cases.MemoryHot, allocs, 0, true, reasonMemory},
	{"memory, one key, all denied", cases.MemoryDenied, cost, 1.3, true, reasonMemory},
	{"memory, 100,000 Zipf keys", cases.MemoryZipf, cost, 1.4, true, reasonKeys},
	{"memory, two threads against one", cases.MemoryThreads, faster, 1.8, false, reasonThreads},
	{"DynamoDB, half load, 1 client", cases.DynamoOne, speed, 0.9, false, reasonUpdate},
	{"", cases.DynamoOne, cpu, 1.15, true, reasonUpdate},
	{"DynamoDB, half load, 16 clients", cases.DynamoMany, speed, 0.85, false, reasonUpdate},
	{"", cases.DynamoMany, writes, 1.01, true, reasonContended},
	{"", cases.DynamoMany, tail, 1.2, true, reasonContended},
	{"DynamoDB, token bucket, half load, 16 clients", cases.DynamoBucket, speed, 0.85, false, reasonBucket},
	{"", cases.DynamoBucket, writes, 1.05, true, reasonBucket},
	{"DynamoDB, half load, 16 processes", cases.FleetWindow, speed, 0.85, false, reasonUpdate},
	{"", cases.FleetWindow, writes, 1.01, true, reasonContended},
	{"", cases.FleetWindow, tail, 1.2, true, reasonContended},
	{"DynamoDB, token bucket, half load, 16 processes", cases.FleetBucket, speed, 0.85, false, reasonFleet},
	{"", cases.FleetBucket, writes, 1.05, true, reasonFleet},
	{"DynamoDB, flood of 60 × the limit, 1 client", cases.DynamoFlood, faster, 100, false, reasonFlood},
	{"DynamoDB, flood of 60 × the limit, 16 clients", cases.DynamoFlood16, faster, 100, false, reasonFlood},
	{"Redis, half load, 1 client", cases.RedisOne, speed, 0.9, false, reasonScript},
	{"Redis, half load, 16 clients", cases.RedisMany, speed, 0.85, false, reasonScript},
	{"", cases.RedisMany, script, 8000, true, reasonScript},
	{"Redis, 600 slots", cases.Redis600, script, 8000, true, reasonScript},
	{"Redis, flood of 60 × the limit", cases.RedisFlood, faster, 40, false, reasonFlood},
	{"", cases.RedisFlood, calls, 0.025, true, reasonFlood},
	{"one decision under 1 rule", cases.Rules1, each, 600, true, reasonRules},
	{"", cases.Rules1, allocs, 1, true, reasonRules},
	{"one decision among 1,000 rules", cases.Rules1000, each, 600, true, reasonRules},
	{"", cases.Rules1000, allocs, 1, true, reasonRules},
	{"authorizer handler without the store", cases.Handler, each, 3000, true, reasonHandler},
	{"", cases.Handler, allocs, 15, true, reasonHandler},
	{"`clf` replay in memory", cases.Replay, lines, 1_000_000, false, reasonReplay},
}

// bytesTarget is the memory of a key at a capacity of 100.
const bytesTarget = 120

// row is a line of the table of targets.
type row struct{ Work, Slidegate, Peers, Target, Met, Reason string }

// Targets returns the table of targets. A figure that was not measured has a
// row that says so.
func (d *Data) Targets() (rows []row) {
	for i := range targets {
		rows = append(rows, d.target(&targets[i]))
		if targets[i].id == cases.MemoryZipf {
			rows = append(rows, d.bytesRow())
		}
	}
	for _, l := range d.Lambda {
		if l.Target > 0 {
			r := row{Work: "Lambda, " + l.Case, Slidegate: times(l.Ratio), Target: "≤ " + times(l.Target)}
			r.judge(l.Ratio <= l.Target || number(l.Ratio) == number(l.Target), reasonLambda)
			rows = append(rows, r)
		}
	}
	return rows
}

func (d *Data) target(t *target) row {
	limit := "≥ "
	if t.most {
		limit = "≤ "
	}
	r := row{Work: t.work, Target: limit + t.figure.full(t.want), Met: "not measured"}
	name := subject.Slidegate
	if t.id == cases.MemoryThreads {
		name += cases.TwoThreads
	}
	result, ok := d.find(t.id, name)
	if !ok {
		return r
	}
	v := t.figure.value(&result)
	r.Slidegate, r.Peers = t.figure.full(v), d.peers(t)
	r.judge(t.figure.meets(v, t), t.reason)
	return r
}

// meets compares the figure as it is written, so that the table does not show
// 1.3 as above 1.3.
func (f *figure) meets(v float64, t *target) bool {
	if f.text(v) == f.text(t.want) {
		return true
	}
	return (v < t.want) == t.most
}

func (r *row) judge(met bool, reason string) {
	if r.Met = "met"; !met {
		r.Met, r.Reason = "**missed**", reason
	}
}

// peers returns the same figure of other limiters.
func (d *Data) peers(t *target) string {
	var all []string
	if t.id == cases.MemoryThreads {
		return d.sharing(t)
	}
	for _, r := range d.Results {
		hasNone := t.figure.unit == script.unit && r.Scripts == 0
		if r.Case == t.id && !hasNone && r.Subject != subject.Bare && r.Subject != subject.Slidegate && !strings.HasPrefix(r.Subject, subject.Slidegate+",") {
			text := r.Subject + " " + t.figure.text(t.figure.value(&r))
			if r.Failed > 0.001 {
				text += fmt.Sprintf(" with %.0f%% errors", 100*r.Failed)
			}
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

// sharing returns what others gain by a second thread, each in a case of its own.
func (d *Data) sharing(t *target) string {
	var all []string
	for _, r := range d.Results {
		if name, both := strings.CutSuffix(r.Subject, cases.TwoThreads); both && name != subject.Slidegate {
			all = append(all, name+" "+t.figure.text(t.figure.value(&r)))
		}
	}
	return strings.Join(all, ", ")
}

// bytesRow is the target for memory, which no case measures.
func (d *Data) bytesRow() row {
	r := row{Work: "memory of a key at capacity 100", Target: fmt.Sprintf("≤ %d bytes", bytesTarget), Met: "not measured"}
	var peers []string
	for _, b := range d.Bytes {
		switch b.Subject {
		case subject.Slidegate:
			r.Slidegate = fmt.Sprintf("%.0f bytes", b.Bytes)
			r.judge(b.Bytes <= bytesTarget, reasonBytes)
		case subject.Bare:
		default:
			peers = append(peers, fmt.Sprintf("%s %.0f", b.Subject, b.Bytes))
		}
	}
	r.Peers = strings.Join(peers, ", ")
	return r
}

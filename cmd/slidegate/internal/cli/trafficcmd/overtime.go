package trafficcmd

import (
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/replay"
)

// A replay draws its traffic over time in at most mostBars bars. A log that is
// too short for fewestBars, or has too few requests, shows nothing by that.
const mostBars, fewestBars, fewestRequests = 64, 8, 100

// printOverTime draws what was allowed and denied over time. All lines have one
// scale. It is for people, on a terminal or not: scripts read --json.
func printOverTime(p *command.Printer, r *replay.Report) {
	o, buckets := &r.OverTime, r.OverTime.Buckets()
	if len(buckets) < fewestBars || r.Requests < fewestRequests {
		return
	}
	each := (len(buckets) + mostBars - 1) / mostBars
	n := (len(buckets) + each - 1) / each
	allowed, would, denied := make([]int64, n), make([]int64, n), make([]int64, n)
	var highest, anyWould, anyDenied int64
	for i, c := range buckets {
		i /= each
		allowed[i] += c.Allowed + c.WouldDeny
		would[i] += c.WouldDeny
		denied[i] += c.Denied
		highest = max(highest, allowed[i], denied[i])
		anyWould, anyDenied = anyWould+c.WouldDeny, anyDenied+c.Denied
	}
	rows := [][]string{{"allowed", p.Green(text.Spark(allowed, highest))}}
	if anyWould > 0 {
		rows = append(rows, []string{"would deny", text.Spark(would, highest)})
	}
	if anyDenied > 0 {
		rows = append(rows, []string{"denied", p.Red(text.Spark(denied, highest))})
	}
	p.Section("ll", []string{"over time", "each bar is " + text.Duration(o.Bucket()*time.Duration(each)) + ", from " + o.From().UTC().Format("2006-01-02 15:04:05") + " UTC on"}, rows)
}

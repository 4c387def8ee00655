package watch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
	"github.com/slidegate/slidegate/internal/observe/telemetry/watch"
	"github.com/slidegate/slidegate/internal/test/golden"
)

// TestMetricsTable: docs/operations.md lists the metrics, who exports them, and
// the alarms and graphs that show them.
func TestMetricsTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("| In CloudWatch | Unit | In Prometheus and OpenTelemetry | What it counts | By rule | Exporters | Alarm | Dashboard |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|\n")
	for _, m := range metric.All {
		byRule := ""
		if m.ByRule {
			byRule = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s | %s | %s | %s | %s |\n",
			m.Name, m.Unit, m.Prometheus, m.Help, byRule, exporters(m.Exporters), alarms(m.Name), sections(m.Name))
	}
	golden.CheckPart(t, "../../../../docs/operations.md", "<!-- metrics -->\n", "<!-- end -->", b.String())
}

// TestQueries: docs/operations.md has the queries of the dashboard's tables.
func TestQueries(t *testing.T) {
	var b strings.Builder
	for _, s := range watch.Dashboard {
		for _, table := range s.Tables {
			query := strings.Replace(table.Query, " and "+metric.Limiter+` = "%s"`, "", 1)
			fmt.Fprintf(&b, "%s:\n\n```\n%s\n```\n\n", table.Title, strings.ReplaceAll(query, " | ", "\n| "))
		}
	}
	golden.CheckPart(t, "../../../../docs/operations.md", "<!-- queries -->\n", "<!-- end -->", b.String())
}

func exporters(e metric.Exporter) string {
	var all []string
	for i, name := range []string{"Lambda", "`serve`", "`limitotel`"} {
		if e&(metric.Lambda<<i) != 0 {
			all = append(all, name)
		}
	}
	return strings.Join(all, ", ")
}

// alarms links the runbooks of the alarms on a metric.
func alarms(name string) string {
	var all []string
	for _, a := range watch.Alarms(watch.Settings{MaxWritesPerDay: 1}) {
		if a.Series.Source == watch.Limiter && a.Series.Metric == name {
			all = append(all, fmt.Sprintf("[%s](runbook.md#%s)", a.Name, a.Anchor()))
		}
	}
	return strings.Join(all, ", ")
}

// sections lists the parts of the dashboard that show a metric.
func sections(name string) string {
	var all []string
	for _, s := range watch.Dashboard {
		for _, g := range s.Graphs {
			for _, l := range slices.Concat(g.Left, g.Right) {
				if slices.ContainsFunc(l.Series, func(s watch.Series) bool { return s.Source <= watch.Rules && s.Metric == name }) {
					all = append(all, strings.ToLower(s.Title))
				}
			}
		}
	}
	return strings.Join(slices.Compact(all), ", ")
}

package watch_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
	"github.com/slidegate/slidegate/internal/observe/telemetry/watch"
	"github.com/slidegate/slidegate/internal/test/golden"
)

const page = "../../../../docs/runbook.md"

// TestRunbooks: docs/runbook.md has a table of the alarms, and a section for
// each, under the anchor that its description names.
func TestRunbooks(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	titles := map[string]string{} // by anchor
	for _, heading := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(string(text), -1) {
		titles[strings.ReplaceAll(strings.ToLower(heading[1]), " ", "-")] = heading[1]
	}
	var b strings.Builder
	b.WriteString("| Alarm | Metric of CloudWatch | Rings at | In |\n|---|---|---|---|\n")
	for _, a := range watch.Alarms(watch.Settings{MaxWritesPerDay: 5_000_000}) {
		if titles[a.Anchor()] == "" {
			t.Errorf("%s has no section ## for the alarm %s, #%s", page, a.Name, a.Anchor())
		}
		metric := a.Series.Metric + ", " + a.Series.Stat
		if a.Series.Source != watch.Limiter {
			metric += ", by AWS"
		}
		within := fmt.Sprintf("%d of %d minutes", a.Bad, a.Of)
		if a.Period != time.Minute {
			within = fmt.Sprintf("%v hours", a.Period.Hours())
		}
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s | %s |\n", titles[a.Anchor()], a.Anchor(), metric, rings(a), within)
	}
	golden.CheckPart(t, page, "<!-- alarms -->\n", "<!-- end -->", b.String())
}

// rings writes an alarm's threshold with what it counts.
func rings(a watch.Alarm) string {
	text := fmt.Sprintf("%.0f", a.Threshold)
	switch a.Name {
	case watch.AccountConcurrency:
		return text + "% of the account's quota"
	case "FunctionErrors":
		return "half of the calls"
	case "SlowStore":
		return text + " ms, half the deadline"
	case "StaleRules":
		return text + " s"
	case watch.WritesADay:
		return "`MaxWritesPerDay`"
	}
	return text
}

func TestAlarms(t *testing.T) {
	for name, tt := range map[string]struct {
		settings watch.Settings
		want     string
	}{
		"all":             {watch.Settings{Deadline: time.Second, MaxWritesPerDay: 7}, "throttled-writes 1, function-errors 0.5, lambda-throttles 1, account-concurrency 80, degraded 1, slow-store 500, stale-rules 60, near-limit 1, writes-a-day 7"},
		"no limit a day":  {watch.Settings{Deadline: 3 * time.Millisecond}, "throttled-writes 1, function-errors 0.5, lambda-throttles 1, account-concurrency 80, degraded 1, slow-store 1.5, stale-rules 60, near-limit 1"},
		"without metrics": {watch.Settings{MaxWritesPerDay: 7, WithoutMetrics: true}, "throttled-writes 1, function-errors 0.5, lambda-throttles 1, account-concurrency 80"},
	} {
		var got []string
		for _, a := range watch.Alarms(tt.settings) {
			got = append(got, fmt.Sprint(a.Anchor(), " ", a.Threshold))
			if !strings.HasSuffix(a.Description(), "/docs/runbook.md#"+a.Anchor()) {
				t.Errorf("the description of %s names no runbook: %s", a.Name, a.Description())
			}
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestSeries: alarms and dashboard use metrics that the Lambda writes, and the
// dashboard all of them. Formulas name series that they have.
func TestSeries(t *testing.T) {
	written, shown := []string{}, []string{}
	for _, m := range metric.All {
		if m.Exporters&metric.Lambda != 0 {
			written = append(written, m.Name)
		}
		if m.ByRule {
			written = append(written, m.Name+" by rule")
		}
	}
	check := func(where, formula string, series ...watch.Series) {
		var ids []string
		for _, s := range series {
			ids = append(ids, s.ID())
			name := map[watch.Source]string{watch.Limiter: s.Metric, watch.Rules: s.Metric + " by rule"}[s.Source]
			if name != "" && !slices.Contains(written, name) {
				t.Errorf("%s shows %s, which the Lambda does not write", where, name)
			}
			if name != "" {
				shown = append(shown, name)
			}
		}
		for _, id := range regexp.MustCompile(`\b[a-z]\w*`).FindAllString(formula, -1) {
			if !slices.Contains(ids, id) {
				t.Errorf("%s: %s has no series %s", where, formula, id)
			}
		}
	}
	for _, section := range watch.Dashboard {
		for _, g := range section.Graphs {
			for _, l := range slices.Concat(g.Left, g.Right) {
				check(g.Title, l.Formula, l.Series...)
			}
		}
	}
	slices.Sort(written)
	slices.Sort(shown)
	if diff := cmp.Diff(written, slices.Compact(shown)); diff != "" {
		t.Errorf("the dashboard shows (-written +shown):\n%s", diff)
	}
	for _, a := range watch.Alarms(watch.Settings{MaxWritesPerDay: 1}) {
		check(a.Name, a.Formula, a.Series)
	}
}

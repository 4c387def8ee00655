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

	"github.com/slidegate/slidegate/internal/telemetry/metric"
	"github.com/slidegate/slidegate/internal/telemetry/watch"
)

// TestRunbooks: docs/operations.md has a section for each alarm, under the anchor
// that its description names.
func TestRunbooks(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	var headings []string
	for _, heading := range regexp.MustCompile(`(?m)^### (.*)$`).FindAllStringSubmatch(string(page), -1) {
		headings = append(headings, strings.ReplaceAll(strings.ToLower(heading[1]), " ", "-"))
	}
	for _, a := range watch.Alarms(watch.Settings{MaxWritesPerDay: 1}) {
		if !slices.Contains(headings, a.Anchor()) {
			t.Errorf("docs/operations.md has no section ### for the alarm %s, %s", a.Name, a.Anchor())
		}
	}
}

func TestAlarms(t *testing.T) {
	for name, tt := range map[string]struct {
		settings watch.Settings
		want     string
	}{
		"all":             {watch.Settings{Deadline: time.Second, MaxWritesPerDay: 7}, "throttled-writes 1, function-errors 1, lambda-throttles 1, account-concurrency 80, degraded 1, slow-store 500, stale-rules 60, near-limit 1, writes-a-day 7"},
		"no limit a day":  {watch.Settings{Deadline: 3 * time.Millisecond}, "throttled-writes 1, function-errors 1, lambda-throttles 1, account-concurrency 80, degraded 1, slow-store 1.5, stale-rules 60, near-limit 1"},
		"without metrics": {watch.Settings{MaxWritesPerDay: 7, WithoutMetrics: true}, "throttled-writes 1, function-errors 1, lambda-throttles 1, account-concurrency 80"},
	} {
		var got []string
		for _, a := range watch.Alarms(tt.settings) {
			got = append(got, fmt.Sprint(a.Anchor(), " ", a.Threshold))
			if !strings.HasSuffix(a.Description(), "/docs/operations.md#"+a.Anchor()) {
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

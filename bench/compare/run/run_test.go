package run

import (
	"regexp"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/bench/compare/cases"
	"github.com/slidegate/slidegate/bench/compare/report"
)

// TestMeasure runs one case, without servers.
func TestMeasure(t *testing.T) {
	var log strings.Builder
	r := Runner{All: true, Only: regexp.MustCompile("^" + cases.Rules1 + "$"), Log: &log}
	var d report.Data
	if err := r.Measure(t.Context(), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Results) != 2 || len(d.Failures) > 0 {
		t.Errorf("%d results, failures %q", len(d.Results), d.Failures)
	}
	if !strings.Contains(log.String(), "1 of 1  "+cases.Rules1) {
		t.Errorf("progress: %s", log.String())
	}
}

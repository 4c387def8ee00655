package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
)

// TestGenerate: the module has a method for each metric of the Lambda, one more
// for each that also counts by rule, and no others.
func TestGenerate(t *testing.T) {
	text, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, found := range regexp.MustCompile(`public metric(\w+)\(`).FindAllStringSubmatch(text, -1) {
		got = append(got, found[1])
	}
	for _, m := range metric.All {
		if m.Exporters&metric.Lambda == 0 {
			continue
		}
		want = append(want, m.Name)
		if m.ByRule {
			want = append(want, m.Name+"ByRule")
		}
	}
	if g, w := strings.Join(got, " "), strings.Join(want, " "); g != w {
		t.Errorf("methods:\n%s\nwant:\n%s", g, w)
	}
	if !strings.Contains(text, `{ type: "ACCESS_DENIED", status: 429, headers: {`) {
		t.Errorf("no response for denials in\n%s", text)
	}
}

package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"text/template"

	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
	"github.com/slidegate/slidegate/internal/observe/telemetry/watch"
	"github.com/slidegate/slidegate/internal/test/golden"
)

// TestGenerated writes the part of the construct for TypeScript and Python that
// follows lists of this repository: a method for each metric of the Lambda, one
// more for each that also counts by rule, and the gateway responses.
func TestGenerated(t *testing.T) {
	source, err := os.ReadFile("testdata/generated.ts.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	var metrics []metric.Metric
	for _, m := range metric.All {
		if m.Exporters&metric.Lambda != 0 {
			metrics = append(metrics, m)
		}
	}
	asJSON := func(value any) (string, error) {
		text, err := json.Marshal(value)
		return string(text), err
	}
	page := template.Must(template.New("").Funcs(template.FuncMap{"stat": watch.Stat, "json": asJSON}).Parse(string(source)))
	var text strings.Builder
	if err := page.Execute(&text, map[string]any{"Namespace": metric.Namespace, "Metrics": metrics, "Responses": apigw.GatewayResponses()}); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "constructs/src/generated.ts", text.String())
}

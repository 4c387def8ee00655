// Command jsii writes the part of the construct for TypeScript and Python that
// follows lists of this repository: a method for each metric of the Lambda, and
// the gateway responses.
//
//	cd infra && go run ./jsii -o constructs/src/generated.ts
package main

import (
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"text/template"

	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
	"github.com/slidegate/slidegate/internal/observe/telemetry/watch"
)

//go:embed generated.ts.tmpl
var source string

func main() {
	out := flag.String("o", "/dev/stdout", "the `FILE` to write")
	flag.Parse()
	text, err := generate()
	if err == nil {
		err = os.WriteFile(*out, []byte(text), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "jsii:", err)
		os.Exit(1)
	}
}

// generate returns a module of TypeScript.
func generate() (string, error) {
	var metrics []metric.Metric
	for _, m := range metric.All {
		if m.Exporters&metric.Lambda != 0 {
			metrics = append(metrics, m)
		}
	}
	t, err := template.New("").Funcs(template.FuncMap{"stat": watch.Stat, "json": asJSON}).Parse(source)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	err = t.Execute(&text, map[string]any{"Namespace": metric.Namespace, "Metrics": metrics, "Responses": apigw.GatewayResponses()})
	return text.String(), err
}

func asJSON(value any) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}

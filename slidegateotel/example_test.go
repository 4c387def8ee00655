package slidegateotel_test

import (
	"context"
	"fmt"
	"log"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/slidegateotel"
)

// A program that has set up OpenTelemetry needs no option.
func Example() {
	observe, err := slidegateotel.NewObserver()
	if err != nil {
		log.Fatal(err)
	}
	_, err = slidegate.New(slidegate.SlidingWindow(100, time.Minute),
		slidegate.WithName("api"), slidegate.WithObserver(observe))
	if err != nil {
		log.Fatal(err)
	}
}

// A reader that collects by hand shows what is recorded.
func ExampleWithMeterProvider() {
	reader := sdk.NewManualReader()
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	observe, err := slidegateotel.NewObserver(slidegateotel.WithMeterProvider(provider))
	if err != nil {
		log.Fatal(err)
	}
	lim, err := slidegate.New(slidegate.SlidingWindow(1, time.Minute), slidegate.WithObserver(observe))
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		if _, err := lim.Allow(context.Background(), "user:7"); err != nil {
			log.Fatal(err)
		}
	}
	var metrics metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &metrics); err != nil {
		log.Fatal(err)
	}
	decisions := metrics.ScopeMetrics[0].Metrics[0]
	for _, point := range decisions.Data.(metricdata.Sum[int64]).DataPoints {
		outcome, _ := point.Attributes.Value("slidegate.outcome")
		fmt.Println(decisions.Name, outcome.AsString(), point.Value)
	}
	// Unordered output:
	// slidegate.decisions allowed 1
	// slidegate.decisions denied 2
}

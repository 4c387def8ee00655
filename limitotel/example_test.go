package limitotel_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limitotel"
)

// A program that has set up OpenTelemetry needs no option.
func Example() {
	metrics, err := limitotel.New()
	if err != nil {
		log.Fatal(err)
	}
	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute), slidegate.WithName("api"), metrics)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := lim.Allow(context.Background(), "user:7"); err != nil {
		log.Fatal(err)
	}
}

// A reader that collects by hand shows what is recorded.
func ExampleWithMeterProvider() {
	reader := sdk.NewManualReader()
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	metrics, err := limitotel.New(limitotel.WithMeterProvider(provider))
	if err != nil {
		log.Fatal(err)
	}
	lim, err := slidegate.New(slidegate.SlidingWindow(1, time.Minute), metrics)
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		if _, err := lim.Allow(context.Background(), "user:7"); err != nil {
			log.Fatal(err)
		}
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		log.Fatal(err)
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok {
			for _, point := range sum.DataPoints {
				if point.Value > 0 {
					fmt.Println(m.Name, point.Attributes.Encoded(attribute.DefaultEncoder()), point.Value)
				}
			}
		}
	}
	// Unordered output:
	// slidegate.decisions  3
	// slidegate.denied rule=default 2
	// slidegate.near_limit rule=default 1
	// slidegate.store_attempts  3
}

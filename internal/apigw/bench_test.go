package apigw_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/slidegate/slidegate/internal/apigw"
	"github.com/slidegate/slidegate/internal/memory"
)

// BenchmarkHandler decides decoded events with the memory store: two rules cover the request.
func BenchmarkHandler(b *testing.B) {
	authorizer, ev := newAuthorizer(b, memory.New(0)), readEvent(b, "get")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := authorizer.HandleRequest(context.Background(), ev); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecode decodes the same event, for comparison.
func BenchmarkDecode(b *testing.B) {
	data, err := os.ReadFile("testdata/get.event.json")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var ev apigw.RequestEvent
		if err := json.Unmarshal(data, &ev); err != nil {
			b.Fatal(err)
		}
	}
}

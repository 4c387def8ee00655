package bench

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/apigw"
	"github.com/slidegate/slidegate/internal/app"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/memory"
	"github.com/slidegate/slidegate/internal/recorder"
	"github.com/slidegate/slidegate/internal/rulefile"
)

const document = `rules:
  - {name: per-ip, key: "ip:{ip}", limits: [{capacity: 4000000000, window: 60s}]}
  - {name: per-user, when: {route: /v1/**}, key: "user:{header.x-user}", limits: [{capacity: 4000000000, window: 60s}]}
`

// BenchmarkHandler answers a REST API's event under two rules with the memory
// store. Its baseline only decodes the event from JSON.
func BenchmarkHandler(b *testing.B) {
	event, err := os.ReadFile("../internal/apigw/testdata/get.event.json")
	if err != nil {
		b.Fatal(err)
	}
	set, err := rulefile.Parse("rules.yaml", []byte(document))
	if err != nil {
		b.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	e := app.NewEngine(engine.Options{Rules: engine.Fixed{Set: set}, Store: memory.New(0), Recorder: recorder.New(log)})
	authorizer := apigw.NewAuthorizer(e, func() time.Time { return epoch })
	var ev apigw.RequestEvent
	b.Run("event/bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ev = apigw.RequestEvent{}
			if err := json.Unmarshal(event, &ev); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("event/slidegate", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := authorizer.Decide(context.Background(), ev); err != nil {
				b.Fatal(err)
			}
		}
	})
}

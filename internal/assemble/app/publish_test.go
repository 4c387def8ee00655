package app_test

import (
	"context"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// TestPublishUnderWay: while a limiter works, its rules are published again, an
// override is set, and both are undone. Each change applies within ten seconds
// of the limiter's clock, and no count is lost.
func TestPublishUnderWay(t *testing.T) {
	client, ctx := dynamotest.Connect(t), context.Background()
	rulesTable := dynamotest.Create(t, client, ruletable.Description(dynamotest.Name()))
	published := ruletable.New(client, rulesTable)
	now := time.Unix(1_700_000_040, 0)
	note := ruletable.Note{Who: "ada", Why: "a test", When: now}
	publish := func(capacity, previous int64) {
		t.Helper()
		document := &ruledoc.Document{Rules: []ruledoc.Rule{{
			Name: "api", Key: "ip:{ip}", Overrides: &ruledoc.OverrideKeys{OwnKey: true},
			Limits: []ruledoc.Limit{{Capacity: capacity, Window: "1h"}},
		}}}
		if _, err := published.Publish(ctx, ruletable.Version{Document: document, Note: note}, previous); err != nil {
			t.Fatal(err)
		}
	}
	publish(5, 0)

	log := slog.New(slog.DiscardHandler)
	source, overrides := app.NewTable(client, rulesTable, ruletable.SourceOptions{Prepare: app.LoadSecrets}, log)
	e := app.NewEngine(engine.Options{
		Rules: source, Overrides: overrides, Observer: oplog.NewObserver(log),
		Store: dynamo.New(client, dynamotest.Counters(t, client), dynamo.Options{Wall: func() time.Time { return now }}),
	})
	decide := func() *engine.Decision {
		t.Helper()
		d, err := e.Decide(ctx, now, &request.Request{Method: "GET", Path: "/", IP: netip.MustParseAddr("203.0.113.9")})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	used := int64(0)
	spend := func(n int, capacity int64) {
		t.Helper()
		for range n {
			d := decide()
			used++
			if !d.Allowed || d.Verdicts[0].Remaining != capacity-used {
				t.Fatalf("request %d: %+v, want %d left of %d", used, d.Verdicts[0].Result, capacity-used, capacity)
			}
		}
	}
	// later lets ten seconds pass, and waits until the limiter has the
	// capacity: a slow refresh continues beside the request that starts it.
	later := func(capacity int64) {
		t.Helper()
		now = now.Add(10 * time.Second)
		for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
			d := decide()
			if d.Allowed {
				used++
			}
			if d.Verdicts[0].Terms.Limits[0].Capacity == capacity {
				return
			}
		}
		t.Fatalf("after ten seconds the capacity is not %d", capacity)
	}
	spend(3, 5)
	publish(1000, 1)
	spend(1, 5) // the limiter has not read it yet
	later(1000)
	spend(2, 1000)
	override := ruletable.Override{Rule: "api", Key: "ip:203.0.113.9", Document: `{"capacity": 2000}`, Note: note}
	if err := published.SetOverride(ctx, override); err != nil {
		t.Fatal(err)
	}
	later(2000)
	spend(2, 2000)
	if err := published.DeleteOverride(ctx, "api", "ip:203.0.113.9", note); err != nil {
		t.Fatal(err)
	}
	later(1000)
	if err := published.Rollback(ctx, 2, 1, note); err != nil {
		t.Fatal(err)
	}
	later(5)
	if d := decide(); d.Allowed || d.Verdicts[0].Remaining != 0 {
		t.Errorf("%+v: more than five are used", d)
	}
}

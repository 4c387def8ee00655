package app_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

// TestFloodInAnOutage: 80,000 made-up keys in an outage fill half of the local
// counters. Callers whom the store has admitted before still find room, and each
// gets its share once, as on_error: local promises.
func TestFloodInAnOutage(t *testing.T) {
	const callers, flood, share = 1000, 80_000, 2
	set, err := rulefile.Parse("rules.yaml", []byte(`
defaults: {instances: 10}
rules: [{name: api, key: "{header.key}", limits: [{capacity: 20, window: 60s}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_700_000_040, 0)
	local := app.NewLocal(func() time.Time { return now })
	for name, options := range map[string]engine.Options{"the Lambda": {}, "serve": {Local: local, Admitted: local.Note}} {
		store := fakestore.New(nil)
		options.Rules, options.Store, options.Observer = engine.Fixed{Set: set}, store, newJournal().Observer
		e := app.NewEngine(options)
		allowed := func(kind string, keys int) (n int) {
			for i := range keys {
				d, err := e.Decide(context.Background(), now, &request.Request{
					Method: "GET", Path: "/", Headers: map[string][]string{"key": {fmt.Sprint(kind, i)}},
				})
				if err != nil {
					t.Fatal(err)
				}
				if d.Allowed {
					n++
				}
			}
			return n
		}
		if n := allowed("caller", callers); n != callers {
			t.Fatalf("%s: %d of %d callers are allowed before", name, n, callers)
		}
		store.Hook = fakestore.Fail(errors.New("no answer"))
		if n := allowed("flood", flood); n > 25_000 || n < 20_000 {
			t.Errorf("%s: %d made-up keys found room, want half of 50,000", name, n)
		}
		if n := allowed("newcomer", 100); n != 0 {
			t.Errorf("%s: %d newcomers found room after the flood", name, n)
		}
		for round := range share + 1 {
			n := allowed("caller", callers)
			if round < share && n < callers*98/100 || round == share && n > 0 {
				t.Errorf("%s: round %d: %d of %d callers are allowed, and a share is %d", name, round, n, callers, share)
			}
		}
	}
}

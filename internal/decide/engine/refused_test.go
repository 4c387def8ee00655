package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
)

// TestRefusedRepeatKeepsThePlace: a decision that is repeated by its ID, when the
// token has expired meanwhile, is refused. The first one is at work, and keeps its place.
func TestRefusedRepeatKeepsThePlace(t *testing.T) {
	b := newFixture(t, `rules: [{name: work, key: all, limits: [{name: places, in_flight: 2, expires: 60s}]}]`)
	decider := &engine.Decider{Engine: b.engine, Now: func() time.Time { return epoch }}
	decide := func(id string, rejected bool) (*engine.Decision, error) {
		return decider.DecideRequest(t.Context(), &request.Request{Method: "GET", Path: "/", Rejected: rejected, Reserve: &request.Reserve{ID: id}})
	}
	for _, id := range []string{"a", "b"} {
		if d, err := decide(id, false); err != nil || !d.Allowed {
			t.Fatal(id, d, err)
		}
	}
	if _, err := decide("a", true); !errors.Is(err, engine.ErrUnauthorized) {
		t.Fatal(err)
	}
	if d, err := decide("c", false); err != nil || d.Allowed {
		t.Errorf("three requests are at work in two places: %v", err)
	}
}

package gateway

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// lineEvery is how often the same thing is logged: a backend that is down, or talks nonsense, is so for every request of a
// flood.
const lineEvery = 10 * time.Second

// seldom lets a line through at once, and then one in ten seconds. It is safe for concurrent use.
type seldom struct {
	mu   sync.Mutex
	last time.Time
	held int
}

// due reports whether a line may be logged, and how many were held back since the last.
func (s *seldom) due() (held int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if !s.last.IsZero() && now.Sub(s.last) < lineEvery {
		s.held++
		return 0, false
	}
	held, s.last, s.held = s.held, now, 0
	return held, true
}

// seldomHandler logs what a library says of every request, one line in ten seconds.
type seldomHandler struct {
	slog.Handler
	often *seldom
}

// Handle logs a record if a line is due.
func (h *seldomHandler) Handle(ctx context.Context, r slog.Record) error {
	held, ok := h.often.due()
	if !ok {
		return nil
	}
	r.AddAttrs(slog.Int("held_back", held))
	return h.Handler.Handle(ctx, r)
}

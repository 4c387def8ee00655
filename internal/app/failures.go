package app

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate/internal/sparing"
)

// maxFailures bounds the kinds of failure that are told apart; beyond it they are one kind.
const maxFailures = 100

// failures logs what has failed: each kind at once, and then a line in ten seconds with how many were held back. In an
// outage every request of a flood fails, and a line for each would cost more than the requests. It is told the time by the
// decisions, so what is held back waits for one.
type failures struct {
	log *slog.Logger
	any atomic.Bool // whether there is anything to look at: most decisions pass without a lock

	mu    sync.Mutex
	kinds map[failureKind]*kindHeld
}

// failureKind is what is told apart. A key is not part of it: a flood may bring a new one with each request.
type failureKind struct{ action, rule, reason string }

// kindHeld is what became of a kind that was logged.
type kindHeld struct {
	since  time.Time // the last line; the zero Time until the first decision after it
	held   int64     // since then
	latest failure   // of them
}

type failure struct {
	action, rule, key string
	err               error
}

func newFailures(log *slog.Logger) *failures {
	return &failures{log: log, kinds: map[failureKind]*kindHeld{}}
}

func (fs *failures) add(ctx context.Context, f failure) {
	kind := failureKind{f.action, f.rule, reason(f.err)}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.kinds[kind] == nil && len(fs.kinds) >= maxFailures {
		kind = failureKind{}
	}
	if known := fs.kinds[kind]; known != nil {
		known.held, known.latest = known.held+1, f
		return
	}
	fs.kinds[kind] = &kindHeld{}
	fs.any.Store(true)
	fs.say(ctx, f)
}

// tell logs the kinds that were held back for ten seconds, and forgets those that have not come again for so long.
func (fs *failures) tell(ctx context.Context, now time.Time) {
	if !fs.any.Load() {
		return
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for kind, k := range fs.kinds {
		switch {
		case k.since.IsZero():
			k.since = now
		case now.Sub(k.since).Abs() < sparing.Every:
		case k.held == 0:
			delete(fs.kinds, kind)
		default:
			fs.sum(ctx, k)
			k.since = now
		}
	}
	fs.any.Store(len(fs.kinds) > 0)
}

// flush logs all that was held back.
func (fs *failures) flush(ctx context.Context) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, k := range fs.kinds {
		if k.held > 0 {
			fs.sum(ctx, k)
		}
	}
}

// sum logs how many of a kind were held back, and the latest.
func (fs *failures) sum(ctx context.Context, k *kindHeld) {
	fs.say(ctx, k.latest, "held_back", k.held)
	k.held, k.latest = 0, failure{}
}

func (fs *failures) say(ctx context.Context, f failure, more ...any) {
	fs.log.With("action", f.action, "rule", f.rule, "key", f.key, "error", f.err).ErrorContext(ctx, "store failed", more...)
}

// reason returns what a failure comes down to. Of several errors that one wraps the first counts: it is this project's
// word for the others, which may hold what is new each time, such as the number of a request.
func reason(err error) string {
	for {
		var cause error
		switch err := err.(type) {
		case interface{ Unwrap() error }:
			cause = err.Unwrap()
		case interface{ Unwrap() []error }:
			if causes := err.Unwrap(); len(causes) > 0 {
				cause = causes[0]
			}
		}
		if cause == nil {
			return err.Error()
		}
		err = cause
	}
}

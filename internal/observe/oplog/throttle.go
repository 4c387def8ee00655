package oplog

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Every is how often a line of one kind passes.
	Every = 10 * time.Second
	// Suppressed is the attribute with the number of lines of the same kind that
	// were suppressed since the last one passed. It is missing if none was.
	Suppressed = "suppressed"
	// maxKinds bounds the kinds in memory. Beyond it all others are one kind.
	maxKinds = 100
)

// Handler passes the first line of a kind to another handler at once, and then
// one in ten seconds with the number of suppressed ones. Lines are of one kind
// if they agree in level, message and the attributes that NewHandler names. Two errors
// agree if their root causes have the same text: what wraps it, such as the id
// of a request, may differ.
//
// The handler takes the time from the records. Sweep and Flush report suppressed
// lines that no later line has reported. Without them, the last lines of a
// flood are lost.
//
// A Handler is safe for concurrent use.
type Handler struct {
	next  slog.Handler
	attrs []string
	bound []slog.Attr // the attributes in attrs that WithAttrs has added
	kinds *kinds
}

// kinds are shared by a Handler and all handlers derived from it.
type kinds struct {
	mu     sync.Mutex
	byKind map[string]*kind
	any    atomic.Bool // byKind may have some: most of the time it has none
}

// kind is the state of one kind of lines.
type kind struct {
	passed     time.Time // when the last line passed
	suppressed int       // since then
	latest     slog.Record
	next       slog.Handler // for the latest
}

// due reports whether a line of this kind may pass. A clock that was set back
// suppresses nothing.
func (k *kind) due(now time.Time) bool { return now.Sub(k.passed).Abs() >= Every }

// Throttle returns a logger that writes to log through a Handler.
func Throttle(log *slog.Logger, attrs ...string) *slog.Logger {
	return slog.New(NewHandler(log.Handler(), attrs...))
}

// NewHandler returns a handler that writes to next. Lines that differ in one of attrs
// are of different kinds. An attribute with a value for each request, such as a
// key, must not be one of them.
func NewHandler(next slog.Handler, attrs ...string) *Handler {
	return &Handler{next: next, attrs: attrs, kinds: &kinds{byKind: map[string]*kind{}}}
}

// Enabled reports whether the other handler takes lines of this level.
func (h *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle passes a line or suppresses it.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	suppressed, ok := h.kinds.pass(h.kind(r), r, h.next)
	if !ok {
		return nil
	}
	return write(ctx, h.next, r, suppressed)
}

// WithAttrs returns a handler for lines with more attributes.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.next, with.bound = h.next.WithAttrs(attrs), slices.Clip(h.bound)
	for _, a := range attrs {
		if slices.Contains(h.attrs, a.Key) {
			with.bound = append(with.bound, a)
		}
	}
	return &with
}

// WithGroup returns a handler for lines whose attributes are in a group.
func (h *Handler) WithGroup(name string) slog.Handler {
	with := *h
	with.next = h.next.WithGroup(name)
	return &with
}

// Sweep writes one line for each kind that had lines suppressed since its last
// line passed, ten seconds or more before now. It forgets kinds without
// suppressed lines. Call it often: it takes no lock if no line was logged lately.
func (h *Handler) Sweep(ctx context.Context, now time.Time) {
	h.report(ctx, now, func(k *kind) bool { return k.due(now) })
}

// Flush writes one line for each kind that has suppressed lines. The next line
// of any kind passes at once. Call it before the process ends.
func (h *Handler) Flush(ctx context.Context) {
	h.report(ctx, time.Time{}, func(*kind) bool { return true })
}

// report writes the latest line of each due kind that has suppressed lines.
func (h *Handler) report(ctx context.Context, now time.Time, due func(*kind) bool) {
	for _, k := range h.kinds.take(now, due) {
		_ = write(ctx, k.next, k.latest, k.suppressed-1)
	}
}

// kind returns the kind of a line.
func (h *Handler) kind(r slog.Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %q", r.Level, r.Message)
	add := func(a slog.Attr) bool {
		if slices.Contains(h.attrs, a.Key) {
			value := a.Value.Resolve()
			attr := value.String()
			if err, ok := value.Any().(error); ok {
				attr = rootCause(err)
			}
			fmt.Fprintf(&b, " %s=%q", a.Key, attr)
		}
		return true
	}
	for _, a := range h.bound {
		add(a)
	}
	r.Attrs(add)
	return b.String()
}

// pass reports whether a line may pass, and how many of its kind were
// suppressed before it.
func (ks *kinds) pass(name string, r slog.Record, next slog.Handler) (suppressed int, ok bool) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	k := ks.byKind[name]
	if k == nil && !ks.hasRoom(r.Time) {
		name = ""
		k = ks.byKind[name]
	}
	switch {
	case k == nil:
		k = &kind{}
		ks.byKind[name] = k
		ks.any.Store(true)
	case !k.due(r.Time):
		k.suppressed, k.latest, k.next = k.suppressed+1, r.Clone(), next
		return 0, false
	}
	suppressed, *k = k.suppressed, kind{passed: r.Time}
	return suppressed, true
}

// hasRoom reports whether there is room for one more kind. If there is none, it
// forgets the kinds without a line in the last ten seconds: without Sweep they
// would stay for ever, and each new kind could lose its first line.
func (ks *kinds) hasRoom(now time.Time) bool {
	if len(ks.byKind) >= maxKinds {
		maps.DeleteFunc(ks.byKind, func(_ string, k *kind) bool { return k.suppressed == 0 && k.due(now) })
	}
	return len(ks.byKind) < maxKinds
}

// take returns the due kinds that have suppressed lines, and restarts their
// counts as if a line had passed at now. It forgets the other due kinds.
func (ks *kinds) take(now time.Time, due func(*kind) bool) (taken []kind) {
	if !ks.any.Load() {
		return nil
	}
	ks.mu.Lock()
	defer ks.mu.Unlock()
	for name, k := range ks.byKind {
		switch {
		case !due(k):
		case k.suppressed == 0:
			delete(ks.byKind, name)
		default:
			taken = append(taken, *k)
			*k = kind{passed: now}
		}
	}
	ks.any.Store(len(ks.byKind) > 0)
	return taken
}

func write(ctx context.Context, next slog.Handler, r slog.Record, suppressed int) error {
	if suppressed > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int(Suppressed, suppressed))
	}
	return next.Handle(ctx, r)
}

// rootCause returns the text of the innermost error. Where an error wraps
// several, the first counts: it is the sentinel of the package that wraps them.
func rootCause(err error) string {
	switch wrapper := any(err).(type) {
	case interface{ Unwrap() error }:
		if cause := wrapper.Unwrap(); cause != nil {
			return rootCause(cause)
		}
	case interface{ Unwrap() []error }:
		if causes := wrapper.Unwrap(); len(causes) > 0 {
			return rootCause(causes[0])
		}
	}
	return err.Error()
}

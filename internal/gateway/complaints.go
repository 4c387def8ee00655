package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/sparing"
)

// What is said of a backend's costs is bounded: it may send anything, with every answer.
const (
	mostStrange   = 32 // names that are logged, in all
	mostListed    = 16 // in one line
	longestListed = 64 // bytes; no name of a limit is as long
)

// complaints logs what a backend says of costs to no effect: what was charged stays then, and somebody should know. It is
// safe for concurrent use.
type complaints struct {
	log *slog.Logger

	unread, unknown sparing.Line

	mu      sync.Mutex
	strange map[string]bool // the names that have been logged
	enough  bool
}

// unreadable logs, once in ten seconds, what of an answer's costs nobody can read.
func (c *complaints) unreadable(ctx context.Context, ignored []string) {
	if len(ignored) == 0 {
		return
	}
	if held, ok := c.unread.Due(time.Now()); ok {
		c.log.WarnContext(ctx, "the backend's costs are not readable: want limits and whole numbers, such as chat.tokens=512",
			"field", costField, "ignored", listed(ignored), "held_back", held)
	}
}

// unsettled logs the names in an answer's costs by which nothing settles, such as one with a slip in it: each of them once,
// in a line in ten seconds.
func (c *complaints) unsettled(ctx context.Context, d *engine.Decision, costs map[string]int64) {
	names := d.UnknownCosts(costs)
	if len(names) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if names = c.unheard(names); len(names) == 0 || c.enough {
		return
	}
	if _, ok := c.unknown.Due(time.Now()); !ok {
		return // they are heard of again
	}
	if c.enough = len(c.strange) == mostStrange; c.enough {
		c.log.WarnContext(ctx, "the backend makes up names for its costs: no more of them are logged", "field", costField, "names", mostStrange)
		return
	}
	for _, name := range names {
		c.strange[name] = true
	}
	c.log.WarnContext(ctx, "the backend's costs name what is no limit with settle: true; what was charged stays",
		"field", costField, "ignored", names, "limits", listed(d.SettlingLimits()))
}

// unheard returns names that have not been logged, as many as there is room for.
func (c *complaints) unheard(names []string) (unheard []string) {
	room := max(1, min(mostListed, mostStrange-len(c.strange)))
	for _, name := range names {
		if name = clipped(name); !c.strange[name] && len(unheard) < room {
			unheard = append(unheard, name)
		}
	}
	return unheard
}

// listed returns what a line can hold of a list.
func listed(list []string) []string {
	short := make([]string, 0, mostListed+1)
	for _, s := range list[:min(len(list), mostListed)] {
		short = append(short, clipped(s))
	}
	if more := len(list) - mostListed; more > 0 {
		short = append(short, fmt.Sprintf("and %d more", more))
	}
	return short
}

func clipped(s string) string {
	if len(s) > longestListed {
		return s[:longestListed] + "..."
	}
	return s
}

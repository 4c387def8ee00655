package oplog

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
)

// These bound the text about a backend's costs in the log. A backend may send
// anything with every answer.
const (
	maxUnknown   = 32 // names that are logged, in all
	maxListed    = 16 // names in one line
	maxListedLen = 64 // bytes of a name; all names of limits are shorter
)

// CostWarnings logs which of a backend's costs have no effect: the request then
// stays charged as it was. It is safe for concurrent use.
type CostWarnings struct {
	log       *slog.Logger
	throttled *slog.Logger

	mu       sync.Mutex
	unknown  map[string]bool // the names that were logged
	reported time.Time       // when the last of them were
	full     bool
}

// NewCostWarnings returns warnings to a log.
func NewCostWarnings(log *slog.Logger) *CostWarnings {
	return &CostWarnings{
		log: log, throttled: Throttle(log), unknown: map[string]bool{},
	}
}

// Settling knows which costs settle: an engine.Decision or a receipt.
type Settling interface {
	UnknownCosts(costs map[string]int64) (names []string)
	SettlingLimits() (names []string)
}

// Report logs what is wrong with the costs of an answer: members that cannot be
// parsed, and names that no limit settles by.
func (c *CostWarnings) Report(ctx context.Context, s Settling, o *engine.Outcome, malformed []string) {
	c.malformed(ctx, malformed)
	c.unsettled(ctx, s, o.Costs)
}

// malformed logs the members of an answer's costs that cannot be parsed.
func (c *CostWarnings) malformed(ctx context.Context, ignored []string) {
	if len(ignored) > 0 {
		c.throttled.WarnContext(ctx, "the backend's costs are malformed: write limits and whole numbers, such as chat.tokens=512",
			"field", engine.CostField, "ignored", listed(ignored))
	}
}

// unsettled logs the names in an answer's costs that no limit settles by, such
// as a misspelled one. It logs each of them once, and one line in ten seconds;
// a name that comes too early is logged when it comes again.
func (c *CostWarnings) unsettled(ctx context.Context, s Settling, costs map[string]int64) {
	unknown := s.UnknownCosts(costs)
	if len(unknown) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, name := range unknown {
		if name = clip(name); !c.unknown[name] {
			names = append(names, name)
		}
	}
	if len(names) == 0 || c.full || time.Since(c.reported) < Every {
		return
	}
	c.reported = time.Now()
	if c.full = len(c.unknown) == maxUnknown; c.full {
		c.log.WarnContext(ctx, "the backend invents names for its costs: no more of them are logged",
			"field", engine.CostField, "names", maxUnknown)
		return
	}
	names = names[:min(len(names), maxListed, maxUnknown-len(c.unknown))]
	for _, name := range names {
		c.unknown[name] = true
	}
	c.log.WarnContext(ctx, "the backend's costs name no limit with settle: true; the request stays charged as it was",
		"field", engine.CostField, "ignored", names, "limits", listed(s.SettlingLimits()))
}

// listed shortens a list for a line of the log.
func listed(list []string) []string {
	short := make([]string, 0, maxListed+1)
	for _, s := range list[:min(len(list), maxListed)] {
		short = append(short, clip(s))
	}
	if more := len(list) - maxListed; more > 0 {
		short = append(short, fmt.Sprintf("and %d more", more))
	}
	return short
}

func clip(s string) string {
	if len(s) > maxListedLen {
		return s[:maxListedLen] + "..."
	}
	return s
}

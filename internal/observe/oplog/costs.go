package oplog

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/slidegate/slidegate/internal/decide/engine"
)

// These bound the text about a backend's costs in the log. A backend may send
// anything with every answer.
const (
	maxListed    = 16 // names in one line
	maxListedLen = 64 // bytes of a name; all names of limits are shorter
)

// CostWarnings logs which of a backend's costs have no effect: the request then
// stays charged as it was.
type CostWarnings struct{ log *slog.Logger }

// NewCostWarnings returns warnings to a log, of each kind at most one in ten
// seconds.
func NewCostWarnings(log *slog.Logger) *CostWarnings { return &CostWarnings{Throttle(log)} }

// Settling knows which costs settle: an engine.Decision or a receipt.
type Settling interface {
	UnknownCosts(costs map[string]int64) (names []string)
	SettlingLimits() (names []string)
}

// Report logs what is wrong with the costs of an answer: members that cannot be
// parsed, and names that no limit settles by, such as a misspelled one.
func (c *CostWarnings) Report(ctx context.Context, s Settling, o *engine.Outcome, malformed []string) {
	if len(malformed) > 0 {
		c.log.WarnContext(ctx, "the backend's costs are malformed: write limits and whole numbers, such as chat.tokens=512",
			"field", engine.CostField, "ignored", listed(malformed))
	}
	if unknown := s.UnknownCosts(o.Costs); len(unknown) > 0 {
		c.log.WarnContext(ctx, "the backend's costs name no limit with settle: true; the request stays charged as it was",
			"field", engine.CostField, "ignored", listed(unknown), "limits", listed(s.SettlingLimits()))
	}
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

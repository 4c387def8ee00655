package report

import (
	"fmt"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/replay"
)

// notes says what the log lacks, which readers must know before they believe the
// rest.
func notes(t *replay.Report, r *Recording) (all []string) {
	add := func(when bool, format string, args ...any) {
		if when {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	add(t.Requests == 0, "The log has no requests.")
	if t.Skipped > 0 {
		first := ""
		if t.FirstSkipped != nil {
			first = fmt.Sprintf(" The first: %s.", text.Printable(t.FirstSkipped.Error()))
		}
		add(true, "%s could not be read, and are not in the numbers.%s", text.Plural(t.Skipped, "line"), first)
	}
	add(t.Late > 0, "%s came too late to be sorted, and were decided after later ones.", text.Plural(t.Late, "request"))
	add(t.Order == logs.AsLogged && t.OutOfOrder > 0, "%s are earlier than the line before, and were left in that order.", text.Plural(t.OutOfOrder, "request"))
	add(t.NoMethod > 0, "%s have no method in the log. Only rules without methods cover them.", text.Plural(t.NoMethod, "request"))
	add(t.NoAddress > 0, "In %s a proxy's entry for its client is no address, so the address of the proxy counts. The first: %s.", text.Plural(t.NoAddress, "request"), text.Printable(t.FirstEntry))
	if t.Requests == 0 {
		return all
	}
	add(t.Statuses == 0, "The log has no statuses, so the page cannot show which denied requests had succeeded.")
	add(t.Statuses > 0 && t.Statuses < t.Requests, "%s of %s have no status. Shares of answers count the others.",
		text.Thousands(t.Requests-t.Statuses), text.Plural(t.Requests, "request"))
	switch span := t.Span(); {
	case span < 24*time.Hour:
		add(true, "The log spans %s. The busiest hour of a day may not be in it.", text.Brief(span))
	case span < 7*24*time.Hour:
		add(true, "The log spans %s, less than a week. Other days may be busier.", text.Brief(span))
	}
	add(t.Span() < time.Minute, "A bill needs a log of at least a minute.")
	for _, rule := range t.Rules {
		for _, l := range rule.Lacking {
			add(true, "Rule %s: %s of its requests lack %s of its %s.", rule.Rule, text.Percent(l.Requests, rule.Allowed+rule.Denied+rule.WouldDeny), l.Field, l.Use)
		}
		add(!rule.Covered, "Rule %s matched no request: `slidegate explain METHOD PATH` says why.", rule.Rule)
		if of := r.rules[rule.Rule]; of != nil {
			add(len(of.windows) < len(of.Limits), "Rule %s charges by cost. Peaks count requests, so that limit has none.", rule.Rule)
		}
	}
	add(t.Degraded > 0, "%s were decided by on_error, because the store failed.", text.Plural(t.Degraded, "request"))
	return all
}

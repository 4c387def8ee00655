package oplog

import (
	"fmt"
	"strings"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// LocalText says how many requests of these costs one process admits by its
// shares of limits: "5 per 10s, 100 per 1h".
func LocalText(shares []limit.Limit, costs []int64) string {
	all := make([]string, len(shares))
	for i := range shares {
		s := &shares[i]
		window := ruledoc.ShortDuration(s.Window)
		if s.Calendar != nil {
			window = []string{limit.Day: "day", limit.Week: "week", limit.Month: "month"}[s.Calendar.Unit]
		}
		all[i] = fmt.Sprintf("%d per %s", s.Capacity/max(1, costs[i]), window)
		switch room := s.Burst / max(1, costs[i]); s.Algorithm {
		case limit.TokenBucket:
			all[i] += fmt.Sprintf(" with burst %d", room)
		case limit.LeakyBucket:
			all[i] += fmt.Sprintf(" with queue %d", room)
		case limit.InFlight:
			all[i] = fmt.Sprintf("%d in flight", s.Capacity)
		}
	}
	return strings.Join(all, ", ")
}

package telemetry

import "github.com/slidegate/slidegate/internal/telemetry/metric"

// WithoutRule returns how many denials no rule made, such as bans.
func (s *Snapshot) WithoutRule() int64 {
	n := s.Counters[metric.Denied]
	for _, counts := range s.Rules {
		n -= counts[metric.Denied]
	}
	return n
}

package operator

import (
	"os"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/report"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// NewRecording returns a recording of a replay of the session's rules, with the
// scenarios of its page. Each has counters in memory and the session's
// overrides.
func NewRecording(s *session.Session) *report.Recording {
	r := report.NewRecording(s.Rules)
	for _, v := range report.Variants(s.Rules) {
		if v.Set == nil {
			r.Left = append(r.Left, v)
			continue
		}
		// The replay's own rules have the same secrets, and it has warned of those
		// that are missing.
		_ = v.Set.LoadSecrets(os.LookupEnv)
		counted := report.Count(memory.NewSequential(session.RecordedKeys/4), v.Set)
		r.Others = append(r.Others, &report.Scenario{
			Name: v.Name, Writes: counted,
			Engine: engine.New(engine.Options{
				Rules: engine.Fixed{Set: v.Set}, Overrides: s.Overrides, Store: counted, Local: memory.New(0),
			}),
		})
	}
	return r
}

// countWrites returns a store for the replay itself. If the counters are in
// memory, it counts the writes that DynamoDB would get.
func countWrites(s *session.Session, store limit.Store, r *report.Recording) limit.Store {
	if r == nil || !s.InMemory() {
		return store
	}
	r.Own.Writes = report.Count(store, s.Rules)
	return r.Own.Writes
}

package operator

import (
	"time"

	"github.com/slidegate/slidegate/internal/replay"
	"github.com/slidegate/slidegate/internal/rules"
)

// ReplayReport is the totals of a replay.
type ReplayReport struct {
	Requests   int64                      `json:"requests"` // read and decided
	Allowed    int64                      `json:"allowed"`
	Denied     int64                      `json:"denied"`
	Exempt     int64                      `json:"exempt"`     // allowed requests that skip, a plan or an override lifts all limits from
	Banned     int64                      `json:"banned"`     // denied by deny or an override
	Ambiguous  int64                      `json:"ambiguous"`  // denied: servers may read their path in several ways
	WouldDeny  int64                      `json:"would_deny"` // allowed requests that a shadow rule would have denied
	Skipped    int64                      `json:"skipped"`    // lines that could not be read
	Degraded   int64                      `json:"degraded"`   // requests that on_error decided
	Delayed    int64                      `json:"delayed"`    // allowed requests that a leaky bucket would hold for a while
	Rules      map[string]RuleTotals      `json:"rules"`
	Candidates map[string]CandidateTotals `json:"candidates,omitempty"` // by "rule" or "rule.limit"
	TopDenied  []replay.KeyTotal          `json:"top_denied"`
	Elapsed    float64                    `json:"elapsed_s"`
	Reads      *int64                     `json:"reads,omitempty"` // of DynamoDB
	Writes     *int64                     `json:"writes,omitempty"`

	Span              time.Duration           `json:"-"` // from the first request to the last
	RulesInOrder      []replay.RuleTotal      `json:"-"`
	CandidatesInOrder []replay.CandidateTotal `json:"-"`
}

// RuleTotals counts the verdicts of a rule.
type RuleTotals struct {
	Allowed   int64  `json:"allowed"`
	Denied    int64  `json:"denied"`
	Mode      string `json:"mode,omitempty"`       // empty for enforce
	WouldDeny *int64 `json:"would_deny,omitempty"` // of a shadow rule
}

// CandidateTotals counts what a candidate capacity would have changed.
type CandidateTotals struct {
	WouldDeny  int64 `json:"would_deny"`
	WouldAllow int64 `json:"would_allow"`
}

// reportReplay returns the totals. calls is nil unless DynamoDB counted them.
func reportReplay(r *replay.Report, calls func() (reads, writes int64)) *ReplayReport {
	report := &ReplayReport{
		Requests: r.Requests, Allowed: r.Allowed, Denied: r.Denied, Exempt: r.Exempt, Banned: r.Banned, Ambiguous: r.Ambiguous, WouldDeny: r.WouldDeny,
		Skipped: r.Skipped, Degraded: r.Degraded, Delayed: r.Delayed,
		Rules: map[string]RuleTotals{}, Candidates: map[string]CandidateTotals{}, TopDenied: append([]replay.KeyTotal{}, r.TopDenied...), Elapsed: r.Elapsed.Seconds(),
		Span: r.Last.Sub(r.First), RulesInOrder: r.Rules, CandidatesInOrder: r.Candidates,
	}
	for i := range r.Rules {
		rule := &r.Rules[i]
		totals := RuleTotals{Allowed: rule.Allowed, Denied: rule.Denied}
		if rule.Mode != rules.Enforce {
			totals.Mode = rule.Mode.String()
		}
		if rule.Mode == rules.Shadow {
			totals.WouldDeny = &rule.WouldDeny
		}
		report.Rules[rule.Rule] = totals
	}
	for _, candidate := range r.Candidates {
		report.Candidates[candidate.Limit] = CandidateTotals{candidate.WouldDeny, candidate.WouldAllow}
	}
	if calls != nil {
		reads, writes := calls()
		report.Reads, report.Writes = &reads, &writes
	}
	return report
}

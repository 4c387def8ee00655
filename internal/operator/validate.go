package operator

import (
	"errors"
	"slices"

	"github.com/slidegate/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/yamlfile"
)

// ValidateReport says what a rules file means, or what is wrong with it.
type ValidateReport struct {
	Valid     bool            `json:"valid"`
	Errors    yamlfile.Errors `json:"errors"`
	Warnings  []string        `json:"warnings"`
	Unmatched string          `json:"unmatched,omitempty"` // allow or deny
	Plans     []string        `json:"plans"`
	// Overrides of callers' plans in the document, and the form of their keys.
	PlanOverrides    int          `json:"plan_overrides"`
	PlanOverrideKeys string       `json:"plan_override_keys,omitempty"`
	Rules            []RuleReport `json:"rules"`

	PlanSource string `json:"-"` // where a caller's plan is stated; empty for nowhere
}

// Validate reads a rules file. It fails only if the file cannot be read.
func Validate(file string) (*ValidateReport, error) {
	set, _, err := session.ReadRules(file)
	report := &ValidateReport{Errors: yamlfile.Errors{}, Warnings: []string{}, Plans: []string{}, Rules: []RuleReport{}}
	if errors.As(err, &report.Errors) {
		return report, nil
	}
	if err != nil {
		return nil, err
	}
	report.Valid = true
	report.Warnings = append(report.Warnings, warnings(set)...)
	report.Unmatched, report.Plans = set.Unmatched.String(), append(report.Plans, set.Plans()...)
	report.PlanOverrides, report.PlanOverrideKeys = set.Overrides(rules.PlanOverrides), set.OverrideKeys(rules.PlanOverrides)
	if plan := set.Document().Plan; plan != nil {
		report.PlanSource = plan.From
	}
	for _, r := range set.Rules {
		report.Rules = append(report.Rules, reportRule(set, r))
	}
	return report, nil
}

// warnings are those of the document, and a secret of the environment that
// contradicts it.
func warnings(set *rules.Set) []string {
	if err := secretMismatch(set); err != nil {
		return append(slices.Clone(set.Warnings), err.Error())
	}
	return set.Warnings
}

// secretMismatch returns an error if the environment has another secret than
// the rules. A missing secret is fine: limiters need it, this program does not.
func secretMismatch(set *rules.Set) error {
	if err := set.HashSecretError(); !errors.Is(err, rules.ErrMissingSecret) {
		return err
	}
	return nil
}

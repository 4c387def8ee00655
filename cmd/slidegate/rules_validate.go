package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/yamlfile"
)

func (c *cli) validateCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a rules file",
		Long: `Validate reads a rules file as a limiter would, and says everything that is wrong with it, each with its line,
its column and what to write instead. What is allowed but likely to let too much through is a warning.`,
		Example: `  slidegate rules validate rules.yaml
  slidegate rules validate rules.yaml --json`,
		Args:              positional(1, 1, "one rules file"),
		ValidArgsFunction: inTurn(filesOf("yaml", "yml")),
		RunE:              func(_ *cobra.Command, args []string) error { return c.validate(args[0], asJSON) },
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (c *cli) validate(file string, asJSON bool) error {
	set, _, err := readRules(file)
	var invalid yamlfile.Errors
	if err != nil && !errors.As(err, &invalid) {
		return err
	}
	if asJSON {
		if failed := printJSON(c.stdout, validated(set, invalid)); failed != nil {
			return failed
		}
		if err != nil {
			return fmt.Errorf("%s: %s", file, plural(len(invalid), "error"))
		}
		return nil
	}
	if err != nil {
		return err
	}
	c.warn(warnings(set))
	return c.summarise(file, set)
}

// validation is what rules validate --json prints.
type validation struct {
	Valid     bool        `json:"valid"`
	Errors    []faultTold `json:"errors"`
	Warnings  []string    `json:"warnings"`
	Unmatched string      `json:"unmatched,omitempty"` // allow or deny
	Plans     []string    `json:"plans"`
	// Overrides of callers' plans that the document holds, and the form of their keys.
	PlanOverrides    int         `json:"plan_overrides"`
	PlanOverrideKeys string      `json:"plan_override_keys,omitempty"`
	Rules            []ruleShown `json:"rules"`
}

type faultTold struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Path   string `json:"path"` // within the document; empty for all of it
	Reason string `json:"reason"`
}

func validated(set *rules.Set, invalid yamlfile.Errors) validation {
	v := validation{
		Valid: set != nil && len(invalid) == 0, Errors: []faultTold{}, Warnings: []string{}, Plans: []string{}, Rules: []ruleShown{},
	}
	for _, e := range invalid {
		v.Errors = append(v.Errors, faultTold(*e))
	}
	if !v.Valid {
		return v
	}
	v.Warnings = append(v.Warnings, warnings(set)...)
	v.Unmatched, v.Plans = set.Unmatched.String(), append(v.Plans, set.Plans()...)
	v.PlanOverrides, v.PlanOverrideKeys = set.Overrides(rules.PlanOverrides), set.OverrideKeys(rules.PlanOverrides)
	for _, r := range set.Rules {
		v.Rules = append(v.Rules, showRule(set, r))
	}
	return v
}

// warnings are those of the document, and what the environment has against it.
func warnings(set *rules.Set) []string {
	if err := contradicted(set); err != nil {
		return append(slices.Clone(set.Warnings), err.Error())
	}
	return set.Warnings
}

// contradicted returns what the environment has against the rules: a secret that is not theirs. One that is not there says
// nothing, because it has to be where the limiters are.
func contradicted(set *rules.Set) error {
	if err := set.HashSecretError(); !errors.Is(err, rules.ErrMissingSecret) {
		return err
	}
	return nil
}

// summarise prints what the rules come to.
func (c *cli) summarise(file string, set *rules.Set) error {
	p := printer{w: c.stdout}
	p.line("%s is valid: %s, unmatched requests: %s", file, plural(len(set.Rules), "rule"), set.Unmatched)
	var limits, plans, more [][]string
	for _, r := range set.Rules {
		for i := range r.Limits {
			l := &r.Limits[i]
			limits = append(limits, []string{
				policyName(r.Name, l), thousands(l.Capacity), spellWindow(l), spellDetail(l), l.Algorithm.String(), r.OnError.String(), r.Key,
			})
		}
		if also := alsoSays(set, r); also != "" {
			more = append(more, []string{r.Name, also})
		}
	}
	for _, plan := range set.Plans() {
		plans = append(plans, planRows(set, plan)...)
	}
	p.section("lrrrlll", []string{"limit", "capacity", "window", "detail", "algorithm", "on error", "key"}, limits)
	p.section("lll", []string{"plan", "limit", "capacity"}, plans)
	p.section("ll", []string{"rule", "also"}, more)
	if source, overrides := planSource(set), overridden(set, rules.PlanOverrides); source != "" || overrides != "" {
		p.line("")
		p.line("plan of a caller: %s", strings.TrimPrefix(source+overrides, "; "))
	}
	return p.err
}

// planSource names where requests say which plan their caller has; "" if they do not.
func planSource(set *rules.Set) string {
	if plan := set.Document().Plan; plan != nil {
		return plan.From
	}
	return ""
}

// overridden says how overrides of a rule, or of plans, are found; empty where there are none.
func overridden(set *rules.Set, rule string) string {
	keys := set.OverrideKeys(rule)
	if keys == "" {
		return ""
	}
	return fmt.Sprintf("; overrides by %s, %s of them here", keys, thousands(int64(set.Overrides(rule))))
}

// planRows are what a plan makes of the rules.
func planRows(set *rules.Set, plan string) (rows [][]string) {
	for _, r := range set.Rules {
		of, ok := set.Document().Plans[plan][r.Name]
		if ok && of.Unlimited {
			rows = append(rows, []string{plan, r.Name, "unlimited"})
		}
		for i := range r.Limits {
			if ok && !of.Unlimited {
				rows = append(rows, []string{plan, policyName(r.Name, &r.Limits[i]), thousands(of.Capacity[r.Limits[i].Name])})
			}
		}
	}
	return rows
}

// alsoSays is what is unusual about a rule, in a few words.
func alsoSays(set *rules.Set, r *rules.Rule) string {
	var words []string
	say := func(condition bool, format string, args ...any) {
		if condition {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	say(r.Mode == rules.Shadow, "on trial (mode: shadow)")
	say(r.Mode == rules.Off, "off")
	say(r.Hashed(), "keys hashed")
	say(r.Atomic, "atomic")
	say(r.Quiet, "no headers")
	for i := range r.Limits {
		shown := showLimit(&r.Limits[i], &r.Costs[i])
		name := policyName(r.Name, &r.Limits[i])
		say(shown.costs() != "", "%s costs %s", name, shown.costs())
		if r.Candidates != nil {
			say(r.Candidates[i].String() != "", "%s has %s on trial", name, r.Candidates[i])
		}
		from := anchorFrom(set, r, i)
		say(from != "", "%s starts on the day that %s says", name, from)
	}
	overrides := strings.TrimPrefix(overridden(set, r.Name), "; ")
	say(overrides != "", "%s", overrides)
	refundOn := set.Document().Rule(r.Name).RefundOn
	say(len(refundOn) > 0, "gives back on %s", strings.Join(refundOn, ", "))
	return strings.Join(words, "; ")
}

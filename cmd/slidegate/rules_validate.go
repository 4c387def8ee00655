package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
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
		Args: positional(1, 1, "one rules file"),
		RunE: func(_ *cobra.Command, args []string) error { return c.validate(args[0], asJSON) },
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (c *cli) validate(file string, asJSON bool) error {
	set, _, err := readRules(file)
	var invalid rules.Errors
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
	c.warn(set.Warnings)
	return c.summarise(file, set)
}

// validation is what rules validate --json prints.
type validation struct {
	Valid    bool        `json:"valid"`
	Errors   []faultTold `json:"errors"`
	Warnings []string    `json:"warnings"`
	Rules    []ruleShown `json:"rules"`
}

type faultTold struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Path   string `json:"path"` // within the document; empty for all of it
	Reason string `json:"reason"`
}

type ruleShown struct {
	Name    string       `json:"name"`
	Key     string       `json:"key"`
	OnError string       `json:"on_error"`
	Atomic  bool         `json:"atomic"`
	Limits  []limitShown `json:"limits"`
}

type limitShown struct {
	Name        string  `json:"name"` // empty for a rule's only limit
	Algorithm   string  `json:"algorithm"`
	Capacity    int64   `json:"capacity"`
	Window      float64 `json:"window_s"`
	Granularity float64 `json:"granularity_s"`   // 0 for a bucket, which has no slots
	Burst       int64   `json:"burst,omitempty"` // what a bucket or a queue holds
	Unit        string  `json:"unit,omitempty"`  // of a calendar: day, week or month
	Timezone    string  `json:"timezone,omitempty"`
	Anchor      int     `json:"anchor,omitempty"`
	Cost        int64   `json:"cost"`
}

func validated(set *rules.Set, invalid rules.Errors) validation {
	v := validation{Valid: set != nil && len(invalid) == 0, Errors: []faultTold{}, Warnings: []string{}, Rules: []ruleShown{}}
	for _, e := range invalid {
		v.Errors = append(v.Errors, faultTold(*e))
	}
	if !v.Valid {
		return v
	}
	v.Warnings = append(v.Warnings, set.Warnings...)
	for _, r := range set.Rules {
		shown := ruleShown{Name: r.Name, Key: r.Key, OnError: r.OnError.String(), Atomic: r.Atomic}
		for i, l := range r.Limits {
			shown.Limits = append(shown.Limits, showLimit(&l, r.Costs[i]))
		}
		v.Rules = append(v.Rules, shown)
	}
	return v
}

func showLimit(l *limit.Limit, cost int64) limitShown {
	shown := limitShown{
		Name: l.Name, Algorithm: l.Algorithm.String(), Capacity: l.Capacity, Window: l.Window.Seconds(),
		Granularity: l.Granularity.Seconds(), Burst: l.Burst, Cost: cost,
	}
	if l.Calendar != nil {
		shown.Unit = []string{limit.Day: "day", limit.Week: "week", limit.Month: "month"}[l.Calendar.Unit]
		shown.Timezone, shown.Anchor = l.Calendar.Location.String(), l.Calendar.Anchor
	}
	return shown
}

// summarise prints what the rules come to.
func (c *cli) summarise(file string, set *rules.Set) error {
	p := printer{w: c.stdout}
	p.line("%s is valid: %s, unmatched requests: %s", file, plural(len(set.Rules), "rule"), set.Unmatched)
	var rows [][]string
	for _, r := range set.Rules {
		for i := range r.Limits {
			l := &r.Limits[i]
			rows = append(rows, []string{
				policyName(r, i), thousands(l.Capacity), spellWindow(l), spellDetail(l), l.Algorithm.String(), r.OnError.String(), r.Key,
			})
		}
	}
	p.section("lrrrlll", []string{"limit", "capacity", "window", "detail", "algorithm", "on error", "key"}, rows)
	return p.err
}

// spellWindow is a limit's window as rules have it: 1mo from the 15th, Europe/Berlin.
func spellWindow(l *limit.Limit) string {
	if l.Calendar == nil {
		return spell(l.Window)
	}
	window := []string{limit.Day: "1d", limit.Week: "1w", limit.Month: "1mo"}[l.Calendar.Unit]
	if l.Calendar.Anchor > 1 {
		window += fmt.Sprintf(" from day %d", l.Calendar.Anchor)
	}
	return window + ", " + l.Calendar.Location.String()
}

// spellDetail is the width of a limit's slots, or what takes their place.
func spellDetail(l *limit.Limit) string {
	switch l.Algorithm {
	case limit.SlidingWindowLog:
		return "exact"
	case limit.TokenBucket:
		return "burst " + thousands(l.Burst)
	case limit.LeakyBucket:
		return "queue " + thousands(l.Burst)
	}
	if l.Calendar != nil {
		return "calendar"
	}
	return spell(l.Granularity)
}

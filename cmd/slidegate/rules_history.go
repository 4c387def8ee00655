package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/ruletable"
)

func (c *cli) historyCommand() *cobra.Command {
	var f tableFlags
	var limit int
	cmd := &cobra.Command{
		Use:   "history --rules dynamodb://TABLE",
		Short: "Show who changed what, and why",
		Long: `History shows every change of a rules table, the newest first: versions published and rolled back, overrides set,
deleted and imported, grants, and counters reset.`,
		Example: `  slidegate rules history --rules dynamodb://slidegate-rules
  slidegate rules history --rules dynamodb://slidegate-rules --limit 100 --json`,
		Args:              positional(0, 0, "no arguments besides flags"),
		ValidArgsFunction: nothing,
		RunE:              func(cmd *cobra.Command, _ []string) error { return c.history(cmd, &f, limit) },
	}
	f.add(cmd)
	limitFlag(cmd, &limit, "changes", 20)
	return cmd
}

// eventTold is a change, for programs.
type eventTold struct {
	When    time.Time    `json:"when"`
	Who     string       `json:"who"`
	Kind    string       `json:"kind"`
	From    int64        `json:"from_version,omitempty"`
	To      int64        `json:"to_version,omitempty"`
	Rule    string       `json:"rule,omitempty"` // of an override; "plan" for those of callers' plans
	Key     string       `json:"key,omitempty"`
	Counter string       `json:"counter,omitempty"` // that was reset
	Before  string       `json:"before,omitempty"`  // the override's document
	After   string       `json:"after,omitempty"`
	Grant   *grantGiven  `json:"grant,omitempty"`
	Grants  []grantGiven `json:"grants,omitempty"`  // deleted with the override before they had ended
	Written int          `json:"written,omitempty"` // overrides imported
	Total   int          `json:"total,omitempty"`   // and to be imported
	Failure string       `json:"failure,omitempty"` // why some were not
	Why     string       `json:"why"`
}

type grantGiven struct {
	Limit string    `json:"limit"` // empty for a rule's only limit
	Add   int64     `json:"add"`
	Until time.Time `json:"until"`
}

func (c *cli) history(cmd *cobra.Command, f *tableFlags, limit int) error {
	if err := checkLimit(cmd, limit); err != nil {
		return err
	}
	table, err := f.open(cmd)
	if err != nil {
		return err
	}
	events := []eventTold{}
	for e, err := range table.History(cmd.Context()) {
		if err != nil {
			return err
		}
		events = append(events, tellEvent(&e))
		if len(events) == limit {
			break
		}
	}
	if f.json {
		return printJSON(c.stdout, struct {
			Events []eventTold `json:"events"`
		}{events})
	}
	if len(events) == 0 {
		c.say("nothing has been changed in %s", f.rules)
		return nil
	}
	rows := [][]string{{"when", "who", "what", "why"}}
	for i := range events {
		e := &events[i]
		rows = append(rows, []string{stamp(e.When), plainText(e.Who), plainText(e.spell()), plainText(e.Why)})
	}
	p := printer{w: c.stdout}
	p.table("llll", rows)
	return p.err
}

func tellEvent(e *ruletable.Event) eventTold {
	told := eventTold{
		When: e.When, Who: e.Who, Kind: string(e.Kind), From: e.From, To: e.To, Rule: e.Rule, Key: e.Key, Counter: e.Counter, Before: e.Before, After: e.After,
		Written: e.Written, Total: e.Total, Failure: e.Failure, Why: e.Why,
	}
	if g := e.Grant; g != nil {
		told.Grant = &grantGiven{g.Limit, g.Add, g.Until}
	}
	for _, g := range e.Grants {
		told.Grants = append(told.Grants, grantGiven{g.Limit, g.Add, g.Until})
	}
	return told
}

// spell says what was changed.
func (e *eventTold) spell() string {
	switch ruletable.Kind(e.Kind) {
	case ruletable.Published:
		return fmt.Sprintf("version %d published%s", e.To, after(e.From))
	case ruletable.RolledBack:
		return fmt.Sprintf("version %d in force again%s", e.To, after(e.From))
	case ruletable.OverrideSet:
		return fmt.Sprintf("%s %s: %s%s", e.Rule, e.Key, e.After, e.instead())
	case ruletable.OverrideDeleted:
		return fmt.Sprintf("%s %s: deleted%s", e.Rule, e.Key, e.instead())
	case ruletable.Granted:
		if e.Grant != nil {
			return fmt.Sprintf("%s %s: +%s until %s", policyOf(e.Rule, e.Grant.Limit), e.Key, thousands(e.Grant.Add), stamp(e.Grant.Until))
		}
	case ruletable.CounterReset:
		return fmt.Sprintf("%s %s: counter reset", e.Rule, e.Key)
	case ruletable.OverridesImported:
		if e.Failure != "" {
			return fmt.Sprintf("%s: %s of %s overrides imported, then %s", e.Rule, thousands(int64(e.Written)), thousands(int64(e.Total)), e.Failure)
		}
		return fmt.Sprintf("%s: %s imported", e.Rule, plural(e.Written, "override"))
	}
	return e.Kind
}

func after(version int64) string {
	if version == 0 {
		return ""
	}
	return fmt.Sprintf(" after %d", version)
}

// instead says what was there before.
func (e *eventTold) instead() string {
	var before []string
	if e.Before != "" {
		before = append(before, e.Before)
	}
	for _, g := range e.Grants {
		before = append(before, strings.TrimSpace("+"+thousands(g.Add)+" "+g.Limit)+" until "+stamp(g.Until))
	}
	if before == nil {
		return ""
	}
	return ", before: " + strings.Join(before, ", ")
}

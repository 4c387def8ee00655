package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

type setFlags struct {
	tableFlags
	noteFlags
	capacity        []string
	limits, plan    string
	unlimited, deny bool
	until, span     string
}

func (c *cli) overridesSetCommand() *cobra.Command {
	var f setFlags
	cmd := &cobra.Command{
		Use:   "set RULE KEY (--capacity [LIMIT=]N… | --limits JSON | --unlimited | --deny | --plan NAME) --why TEXT --rules dynamodb://TABLE",
		Short: "Set the override of a key",
		Long: `Set says something else of one key than its rule does, and shows what was said before. It takes the place of an
override that the key has; grants stay as they are. It is checked against the rules in force.

--capacity keeps everything else of a limit, its counter too. --limits replaces all limits of the rule, and the
key starts at nothing with them.`,
		Example: `  slidegate overrides set api tenant:acme --capacity 20000 --why "contract 31" --rules dynamodb://slidegate-rules
  slidegate overrides set chat user:7 --capacity requests=60 --capacity tokens=200000 --for 7d --why trial --rules dynamodb://slidegate-rules
  slidegate overrides set chat user:8 --limits '[{"capacity": 5, "window": "1s"}]' --why "ticket 82" --rules dynamodb://slidegate-rules
  slidegate overrides set chat user:9 --deny --why "ticket 81" --rules dynamodb://slidegate-rules
  slidegate overrides set plan user:7 --plan pro --until 2026-12-31T00:00:00Z --why "launch week" --rules dynamodb://slidegate-rules`,
		Args:              positional(2, 2, "a rule, or plan, and a key"),
		ValidArgsFunction: inTurn(f.ruleNames(rules.PlanOverrides), f.overrideKeys()),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.setOverride(cmd, &f, args[0], args[1]) },
	}
	f.tableFlags.add(cmd)
	f.noteFlags.add(cmd)
	cmd.Flags().StringArrayVar(&f.capacity, "capacity", nil, "another capacity, `[LIMIT=]N`; may be repeated for several limits")
	cmd.Flags().StringVar(&f.limits, "limits", "", "limits in the place of the rule's, a `JSON` list as in rules")
	cmd.Flags().BoolVar(&f.unlimited, "unlimited", false, "the rule does not limit the key")
	cmd.Flags().BoolVar(&f.deny, "deny", false, "every request of the key is refused")
	cmd.Flags().StringVar(&f.plan, "plan", "", "the caller's plan, a `NAME` among the rules' plans; for RULE plan")
	cmd.Flags().StringVar(&f.until, "until", "", "when it ends by itself, a `TIME` such as 2026-12-31T23:59:00Z")
	cmd.Flags().StringVar(&f.span, "for", "", "how long it is to last, a `TIME` such as 90m, 12h or 7d")
	complete(cmd, "plan", f.planNames())
	return cmd
}

// overrideDocument is an override as documents have it.
type overrideDocument struct {
	Capacity  any             `json:"capacity,omitempty"`
	Limits    json.RawMessage `json:"limits,omitempty"`
	Unlimited bool            `json:"unlimited,omitempty"`
	Deny      bool            `json:"deny,omitempty"`
	Plan      string          `json:"plan,omitempty"`
	Until     *time.Time      `json:"until,omitempty"`
	Why       string          `json:"why,omitempty"`
}

// document returns what the flags say.
func (f *setFlags) document(cmd *cobra.Command, now time.Time) (text []byte, err error) {
	given := 0
	for _, one := range []bool{len(f.capacity) > 0, f.limits != "", f.unlimited, f.deny, f.plan != ""} {
		if one {
			given++
		}
	}
	if given != 1 {
		return nil, usagef(cmd, "want one of --capacity, --limits, --unlimited, --deny and --plan, got %d", given)
	}
	d := overrideDocument{Unlimited: f.unlimited, Deny: f.deny, Plan: f.plan, Why: f.why}
	if len(f.capacity) > 0 {
		if d.Capacity, err = parseCapacities(f.capacity); err != nil {
			return nil, usagef(cmd, "%w", err)
		}
	}
	if f.limits != "" {
		if d.Limits = json.RawMessage(f.limits); !json.Valid(d.Limits) {
			return nil, usagef(cmd, `--limits: want a JSON list such as [{"capacity": 5, "window": "1s"}]`)
		}
	}
	until, err := parseUntil(cmd, f.until, f.span, now)
	if err != nil {
		return nil, err
	}
	d.Until = some(until)
	return json.Marshal(d)
}

// parseCapacities reads one number for a rule's only limit, or several by the limits' names.
func parseCapacities(texts []string) (any, error) {
	byName := map[string]int64{}
	for _, text := range texts {
		name, digits, named := strings.Cut(text, "=")
		if !named {
			name, digits = "", text
		}
		n, err := strconv.ParseInt(strings.ReplaceAll(digits, ",", ""), 10, 64)
		_, twice := byName[name]
		switch {
		case err != nil || named && name == "":
			return nil, fmt.Errorf("--capacity %s: want a number, or LIMIT=NUMBER", text)
		case twice:
			return nil, fmt.Errorf("--capacity %s: the same limit twice", text)
		case len(byName) > 0 && !named || len(byName) > 0 && hasOnly(byName):
			return nil, fmt.Errorf("--capacity %s: of several limits each is named, LIMIT=NUMBER", text)
		}
		byName[name] = n
	}
	if hasOnly(byName) {
		return byName[""], nil
	}
	return byName, nil
}

func hasOnly(byName map[string]int64) bool {
	_, ok := byName[""]
	return ok
}

func (c *cli) setOverride(cmd *cobra.Command, f *setFlags, rule, text string) error {
	now := time.Now()
	note, err := f.note(cmd, now)
	if err != nil {
		return err
	}
	document, err := f.document(cmd, now)
	if err != nil {
		return err
	}
	target, err := f.target(cmd, rule, text)
	if err != nil {
		return err
	}
	if err := target.check(document); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), publishTime)
	defer cancel()
	before, err := target.look(ctx, now)
	if err != nil {
		return err
	}
	next := ruletable.Override{Rule: target.rule, Key: target.key, Document: string(document), Note: note, Revision: before.revision}
	if err := target.table.SetOverride(ctx, next); err != nil {
		return err
	}
	after, err := target.look(ctx, now)
	if err != nil {
		return err
	}
	return c.showChange(target, before, after, f.json)
}

// check says what is wrong with an override of the key.
func (t *overrideTarget) check(document []byte) error {
	o, err := parseOverride("", string(document))
	if err != nil {
		return err
	}
	return apart("", t.set.CheckOverride(t.rule, t.key, o))
}

// sight is what is to be seen of a key at one moment.
type sight struct {
	told     *overrideTold // nil for nothing
	document string        // as stored; empty for none
	revision int64
}

func (t *overrideTarget) look(ctx context.Context, now time.Time) (seen sight, err error) {
	s := t.said(now)
	found, err := s.of(ctx, t.rule, t.key)
	if found.stored != nil {
		seen.document, seen.revision = found.stored.Document, found.stored.Revision
	}
	if err != nil {
		return seen, err
	}
	_, seen.told, err = s.decides(ctx, t.rule, t.key)
	return seen, err
}

// changeTold is a change of one key, for programs.
type changeTold struct {
	Rule   string        `json:"rule"`
	Key    string        `json:"key"`
	Before *overrideTold `json:"before"`
	After  *overrideTold `json:"after"`
}

func (c *cli) showChange(t *overrideTarget, before, after sight, asJSON bool) error {
	if asJSON {
		return printJSON(c.stdout, changeTold{t.rule, t.key, before.told, after.told})
	}
	p := printer{w: c.stdout}
	p.line("override of %s for %s", t.rule, plainText(t.key))
	var rows [][]string
	rows = append(rows, before.rows("  before")...)
	rows = append(rows, after.rows("  now")...)
	p.table("ll", rows)
	return p.err
}

// rows are the lines of what is seen under a name.
func (s *sight) rows(name string) [][]string {
	if s.told == nil && s.document != "" {
		return [][]string{{name, "what cannot be read: " + plainText(s.document)}}
	}
	return s.told.rows(name)
}

// rows are the lines of an override under a name; nil says that there is none.
func (t *overrideTold) rows(name string) (rows [][]string) {
	if t == nil {
		return [][]string{{name, "none"}}
	}
	for _, line := range t.lines() {
		rows = append(rows, []string{name, line})
		name = ""
	}
	return rows
}

// Package keyscmd has the commands on what a rules table keeps of single keys:
// slidegate overrides, slidegate grant and slidegate apikeys.
package keyscmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// OverridesCommand returns slidegate overrides.
func OverridesCommand(c *command.Console) *cobra.Command {
	cmd := command.Group("overrides", "Change the limits of single keys, without publishing rules",
		getCommand(c), setCommand(c), deleteCommand(c), listCommand(c), importCommand(c))
	cmd.Long = `An override changes the limits of one key: another capacity, other limits, none, or a denial. These
commands keep overrides in the rules table, where they have precedence over overrides in the rules. They take
effect within ten seconds, and publishing rules never changes them.

If RULE is plan, the override says which plan a caller has. KEY has the form of the rule's override keys,
such as tenant:acme; special characters in a value are escaped for you.`
	return cmd
}

// onKey completes a command on the override of the key that its arguments RULE and
// KEY name.
func onKey[R any](
	c *command.Console, cmd *cobra.Command, do func(ctx context.Context, table *ruletable.Table, rule, key string) (R, error), print func(*command.Printer, R),
) *cobra.Command {
	cmd.Args = command.Positional(2, 2, "a rule, or plan, and a key")
	return command.OnTable(c, cmd, func(ctx context.Context, table *ruletable.Table, args []string) (R, error) {
		return do(ctx, table, args[0], args[1])
	}, print)
}

func getCommand(c *command.Console) *cobra.Command {
	return onKey(c, &cobra.Command{
		Use:   "get RULE KEY --rules dynamodb://TABLE",
		Short: "Show the override of a key",
		Long: `Get shows the override of one key: by whom, when and why it was set, until when it holds, its grants with the
time left, and the document as the table has it. If the table has none, it shows the override in the rules.

An override that was set when the rule had another name, or keys of another form, is still in the table,
though no request looks it up: name it by its key as overrides list prints it. A key that the table has as you
type it is that one, and Get warns if requests look up another.`,
		Example: `  slidegate overrides get api tenant:acme --rules dynamodb://slidegate-rules
  slidegate overrides get plan user:7 --rules dynamodb://slidegate-rules --json`,
	}, func(ctx context.Context, table *ruletable.Table, rule, key string) (*shownOverride, error) {
		t, err := openStored(ctx, c, table, rule, key)
		if err != nil {
			return nil, err
		}
		return t.get(ctx)
	}, printOverride)
}

func printOverride(p *command.Printer, r *shownOverride) {
	p.Line("override of %s for %s", r.Rule, text.Printable(r.Key))
	rows := overrideRows("  says", r.Override)
	rows.Add("  document", text.Printable(string(r.Document)))
	p.Table("ll", rows)
}

func setCommand(c *command.Console) *cobra.Command {
	var note ruletable.Note
	var o ruledoc.Override
	var limits json.RawMessage
	cmd := &cobra.Command{
		Use:   "set RULE KEY (--capacity [LIMIT=]N… | --limits JSON | --unlimited | --deny | --plan NAME) --why TEXT --rules dynamodb://TABLE",
		Short: "Set the override of a key",
		Long: `Set changes the limits of one key, and shows its override before and now. It replaces the override that the
key has; grants stay. It checks the override against the rules in force.

--capacity keeps everything else of a limit, its counter too. --limits replaces all limits of the rule, and
the key gets a new counter.`,
		Example: `  slidegate overrides set api tenant:acme --capacity 20000 --why "contract 31" --rules dynamodb://slidegate-rules
  slidegate overrides set chat user:7 --capacity requests=60 --capacity tokens=200000 --for 7d --why trial --rules dynamodb://slidegate-rules
  slidegate overrides set chat user:8 --limits '[{"capacity": 5, "window": "1s"}]' --why "ticket 82" --rules dynamodb://slidegate-rules
  slidegate overrides set chat user:9 --deny --why "ticket 81" --rules dynamodb://slidegate-rules
  slidegate overrides set plan user:7 --plan pro --until 2026-12-31T00:00:00Z --why "launch week" --rules dynamodb://slidegate-rules`,
	}
	command.Note(cmd, &note, nil)
	capacities := cmd.Flags().StringArray("capacity", nil, "another capacity, `[LIMIT=]N`; may be repeated for several limits")
	command.Var(cmd, &limits, "limits", "limits that replace the rule's, a `JSON` list as in rules", parseLimits)
	cmd.Flags().BoolVar(&o.Unlimited, "unlimited", false, "the rule does not limit the key")
	cmd.Flags().BoolVar(&o.Deny, "deny", false, "every request of the key is refused")
	cmd.Flags().StringVar(&o.Plan, "plan", "", "the caller's plan, a `NAME` among the rules' plans; for RULE plan")
	command.Until(cmd, &o.Until, "when it ends by itself")
	command.Check(cmd, func() (err error) {
		if o.Capacity, err = parseCapacities(*capacities); err != nil {
			return err
		}
		given := 0
		for _, one := range []bool{len(o.Capacity) > 0, limits != nil, o.Unlimited, o.Deny, o.Plan != ""} {
			if one {
				given++
			}
		}
		if given != 1 {
			return fmt.Errorf("want one of --capacity, --limits, --unlimited, --deny and --plan, got %d", given)
		}
		return nil
	})
	return onKey(c, cmd, func(ctx context.Context, table *ruletable.Table, rule, key string) (*changeReport, error) {
		t, err := open(ctx, table, rule, key)
		if err != nil {
			return nil, err
		}
		if limits != nil {
			_, stated, err := parseOverride(`{"limits": ` + string(limits) + "}")
			if err != nil {
				return nil, err
			}
			o.Limits = stated.Limits
		}
		return t.replace(ctx, o, note)
	}, printChange)
}

func parseLimits(text string) (json.RawMessage, error) {
	if !json.Valid([]byte(text)) {
		return nil, errors.New(`--limits: want a JSON list such as [{"capacity": 5, "window": "1s"}]`)
	}
	return json.RawMessage(text), nil
}

// parseCapacities reads one number for a rule's only limit, or several by the
// limits' names.
func parseCapacities(texts []string) (ruledoc.Capacities, error) {
	var byName ruledoc.Capacities
	for _, text := range texts {
		name, digits, named := strings.Cut(text, "=")
		if !named {
			name, digits = "", text
		}
		n, err := strconv.ParseInt(strings.ReplaceAll(digits, ",", ""), 10, 64)
		_, twice := byName[name]
		_, unnamed := byName[""]
		switch {
		case err != nil || named && name == "":
			return nil, fmt.Errorf("--capacity %s: want a number, or LIMIT=NUMBER", text)
		case twice:
			return nil, fmt.Errorf("--capacity %s: the same limit twice", text)
		case len(byName) > 0 && (!named || unnamed):
			return nil, fmt.Errorf("--capacity %s: several limits each need a name, LIMIT=NUMBER", text)
		}
		if byName == nil {
			byName = ruledoc.Capacities{}
		}
		byName[name] = n
	}
	return byName, nil
}

func deleteCommand(c *command.Console) *cobra.Command {
	var note ruletable.Note
	cmd := onKey(c, &cobra.Command{
		Use:   "delete RULE KEY --why TEXT --rules dynamodb://TABLE",
		Short: "Delete the override of a key",
		Long: `Delete removes the override of one key that was set by command, and its grants: the rules apply again, within
ten seconds. To change an override in the rules themselves, publish other rules.

An override that no request looks up any more is deleted by its key as overrides list prints it.`,
		Example: `  slidegate overrides delete api tenant:acme --why "contract ended" --rules dynamodb://slidegate-rules`,
	}, func(ctx context.Context, table *ruletable.Table, rule, key string) (*changeReport, error) {
		t, err := openStored(ctx, c, table, rule, key)
		if err != nil {
			return nil, err
		}
		return t.remove(ctx, note)
	}, printChange)
	command.Note(cmd, &note, nil)
	return cmd
}

// overrideRows are the lines of an override under a name.
func overrideRows(name string, r *operator.OverrideReport) (rows command.Labelled) {
	if r == nil {
		return command.Labelled{{name, "none"}}
	}
	for _, line := range r.Lines() {
		rows.Add(name, line)
		name = ""
	}
	return rows
}

func printChange(p *command.Printer, r *changeReport) {
	p.Line("override of %s for %s", r.Rule, text.Printable(r.Key))
	before := overrideRows("  before", r.Before)
	if r.Before == nil && r.BeforeDocument != "" {
		before = command.Labelled{{"  before", "a document that cannot be read: " + text.Printable(r.BeforeDocument)}}
	}
	p.Table("ll", append(before, overrideRows("  now", r.After)...))
}

// target is the override of one key that a command shows or changes.
type target struct{ *ruletable.Target }

// open returns the target for a key that the rule's requests look up.
func open(ctx context.Context, table *ruletable.Table, rule, key string) (target, error) {
	ctx, cancel := context.WithTimeout(ctx, session.ChangeTime)
	defer cancel()
	t, err := table.Target(ctx, rule, key)
	if errors.Is(err, rules.ErrNoRule) {
		err = operator.CheckOverrideRule(t.Set, rule) // names all rules
	}
	return target{t}, err
}

// openStored returns the target for an override that may have outlived its rule
// or the form of its keys. It warns if no request looks the key up.
func openStored(ctx context.Context, c *command.Console, table *ruletable.Table, rule, key string) (target, error) {
	ctx, cancel := context.WithTimeout(ctx, session.LookTime)
	defer cancel()
	found, err := table.StoredTarget(ctx, rule, key)
	t := target{found}
	if err == nil && t.Unused != nil {
		c.Warn("the %s is in the table under a key that no request looks up: %s", t.name(), why(t.Unused))
		if t.Wanted != "" {
			c.Warn("requests look up key %s: write that for its override", text.Printable(t.Wanted))
		}
	}
	return t, err
}

// name is how messages name the override.
func (t target) name() string {
	return fmt.Sprintf("override of rule %s for key %s", t.Rule, text.Printable(t.Key))
}

// why is why no request looks up a key of the table; empty if requests do.
func why(unused error) string {
	if unused == nil {
		return ""
	}
	return text.Printable(unused.Error())
}

// read returns what the table has for the key, and a report on the override that
// decides: nil for none, and for one that cannot be read.
func (t target) read(ctx context.Context, now time.Time) (ruletable.Override, *operator.OverrideReport, error) {
	lookup := operator.NewLookup(t.Set, t.Table, now)
	found, err := lookup.Stored(ctx, t.Rule, t.Key)
	if err != nil {
		return found.Override, nil, err
	}
	_, report, err := lookup.Overlay(ctx, t.Rule, t.Key)
	return found.Override, report, err
}

// shownOverride shows the override of one key.
type shownOverride struct {
	Rule     string                   `json:"rule"`
	Key      string                   `json:"key"`
	Override *operator.OverrideReport `json:"override"`
	Document ruletable.JSONText       `json:"document,omitempty"`
	Unused   string                   `json:"unused,omitempty"` // why no request looks the key up
}

// changeReport shows a change of the override of one key.
type changeReport struct {
	Rule   string                   `json:"rule"`
	Key    string                   `json:"key"`
	Before *operator.OverrideReport `json:"before"`
	After  *operator.OverrideReport `json:"after"`

	BeforeDocument string `json:"-"` // as stored; empty for none
}

// get shows the override of the key. It fails if there is none.
func (t target) get(ctx context.Context) (*shownOverride, error) {
	ctx, cancel := context.WithTimeout(ctx, session.LookTime)
	defer cancel()
	stored, report, err := t.read(ctx, time.Now())
	if err == nil && report == nil {
		err = fmt.Errorf("%s: %w", t.name(), ruletable.ErrNoOverride)
	}
	return &shownOverride{t.Rule, t.Key, report, ruletable.JSONText(stored.Document), why(t.Unused)}, err
}

// replace sets the override of the key to a document. Grants stay.
func (t target) replace(ctx context.Context, o ruledoc.Override, note ruletable.Note) (*changeReport, error) {
	return t.change(ctx, note.When, func(ctx context.Context, revision int64) error { return t.Replace(ctx, o, revision, note) })
}

// remove deletes the override of the key and its grants. One that cannot be read
// can be deleted too.
func (t target) remove(ctx context.Context, note ruletable.Note) (*changeReport, error) {
	return t.change(ctx, note.When, func(ctx context.Context, _ int64) error { return t.DeleteOverride(ctx, t.Rule, t.Key, note) })
}

// change makes a change of the override and reports it. The change gets the
// revision of the override, 0 for none, and for an item that cannot be read.
func (t target) change(
	ctx context.Context, now time.Time, apply func(ctx context.Context, revision int64) error,
) (*changeReport, error) {
	ctx, cancel := context.WithTimeout(ctx, session.ChangeTime)
	defer cancel()
	stored, before, err := t.read(ctx, now)
	if err != nil && !errors.Is(err, ruletable.ErrUnreadable) {
		return nil, err
	}
	if err := apply(ctx, stored.Revision); err != nil {
		return nil, err
	}
	_, after, err := t.read(ctx, now)
	return &changeReport{t.Rule, t.Key, before, after, stored.Document}, err
}

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

type listFlags struct {
	tableFlags
	prefix string
	limit  int
}

func (c *cli) overridesListCommand() *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "list RULE --rules dynamodb://TABLE",
		Short: "List the overrides of a rule",
		Long: `List shows the keys of a rule that have an override in the table, in the order of their bytes, each on a line as
soon as it is read. What has ended is marked, and what no request looks up: it was set when the rule had keys of
another form, or other rules were in force. What the rules themselves say of keys is counted, not listed.

With --json each line is an object. Such lines can be imported again.`,
		Example: `  slidegate overrides list api --rules dynamodb://slidegate-rules
  slidegate overrides list api --prefix tenant:a --limit 100 --rules dynamodb://slidegate-rules
  slidegate overrides list plan --json --rules dynamodb://slidegate-rules > plans.jsonl`,
		Args:              positional(1, 1, "a rule, or plan"),
		ValidArgsFunction: inTurn(f.ruleNames(rules.PlanOverrides)),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.listOverrides(cmd, &f, args[0]) },
	}
	f.tableFlags.add(cmd)
	cmd.Flags().StringVar(&f.prefix, "prefix", "", "only keys that begin with `TEXT`, as keys are listed")
	limitFlag(cmd, &f.limit, "keys", 0)
	return cmd
}

// overrideLine is a line of overrides list --json. Key and document are what an import takes.
type overrideLine struct {
	Key      string      `json:"key"`
	Document string      `json:"document,omitempty"`
	Ended    bool        `json:"ended,omitempty"`  // neither the document nor a grant says anything any more
	Unused   string      `json:"unused,omitempty"` // why no request looks up the key
	Error    string      `json:"error,omitempty"`  // the document cannot be read
	Grants   []grantTold `json:"grants,omitempty"`
	Who      string      `json:"who"`
	When     time.Time   `json:"when"`
	Why      string      `json:"why"`
}

func (c *cli) listOverrides(cmd *cobra.Command, f *listFlags, rule string) error {
	if err := checkLimit(cmd, f.limit); err != nil {
		return err
	}
	table, set, err := f.openRules(cmd)
	if err != nil {
		return err
	}
	l, now := listing{set: set, rule: rule, prefix: f.prefix}, time.Now()
	for o, err := range table.Overrides(cmd.Context(), rule, f.prefix) {
		if errors.Is(err, ruletable.ErrUnreadable) {
			l.unreadable++
			c.say("%v", err)
			continue
		}
		if err != nil {
			return err
		}
		line, told := l.line(o, now)
		if err := c.listOverride(line, told, f.json); err != nil {
			return err
		}
		if l.listed++; l.listed == f.limit {
			break
		}
	}
	return c.closeList(&l)
}

// listing is what was listed of a rule.
type listing struct {
	set                        *rules.Set
	rule, prefix               string
	listed, unreadable, unused int
	reason                     string // why no request looks up the first of the unused
}

// closeList says what a list does not show.
func (c *cli) closeList(l *listing) error {
	gone := knownRule(l.set, l.rule)
	switch {
	case gone == nil && l.set.OverridesHashed(l.rule) && l.prefix != "" && !strings.HasPrefix(l.prefix, "%"):
		c.say("no prefix such as %s finds overrides of %s, whose keys are hashed; `slidegate overrides get %s KEY` finds one",
			plainText(l.prefix), l.rule, l.rule)
	case l.listed+l.unreadable > 0:
	case gone != nil:
		return gone
	default:
		c.say("the table holds no overrides of %s%s", l.rule, beginningWith(l.prefix))
	}
	if l.unused > 0 {
		c.say("warning: no request looks up %s of these, the first because %s", thousands(int64(l.unused)), l.reason)
	}
	if n := l.set.Overrides(l.rule); n > 0 {
		c.say("the rules themselves hold %s besides", plural(n, "override"))
	}
	if l.unreadable > 0 {
		return fmt.Errorf("%s cannot be read; `slidegate overrides delete` removes what is there", plural(l.unreadable, "override"))
	}
	return nil
}

func beginningWith(prefix string) string {
	if prefix == "" {
		return ""
	}
	return " whose keys begin with " + plainText(prefix)
}

// line tells of an override.
func (l *listing) line(o *ruletable.Override, now time.Time) (*overrideLine, *overrideTold) {
	line := &overrideLine{Key: o.Key, Document: o.Document, Who: o.Who, When: o.When, Why: o.Why, Unused: unused(l.set, l.rule, o.Key)}
	if line.Unused != "" {
		l.unused++
		l.reason = cmp.Or(l.reason, line.Unused)
	}
	told := &overrideTold{From: fromTable}
	told.note(&o.Note)
	parsed, err := parseStored(o)
	if err != nil {
		line.Error = err.Error()
	} else {
		told.say(parsed, now)
		told.grant(o.Grants, now)
		line.Grants, line.Ended = told.Grants, told.ended()
	}
	return line, told
}

func (c *cli) listOverride(line *overrideLine, told *overrideTold, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(c.stdout)
		e.SetEscapeHTML(false)
		return e.Encode(line)
	}
	p := printer{w: c.stdout}
	mark := ""
	if line.Ended {
		mark = "ended: "
	}
	if line.Unused != "" {
		mark = "not looked up: " + mark
	}
	p.line("%s  %s%s%s", plainText(line.Key), mark, strings.Join(told.lines(), "; "), plainText(line.Error))
	return p.err
}

// ended reports whether nothing is in force any more.
func (t *overrideTold) ended() bool {
	for _, g := range t.Grants {
		if g.Left > 0 {
			return false
		}
	}
	return !t.InForce
}

package keyscmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// listedOverride is one override of a list. An import takes its key and its
// document.
type listedOverride struct {
	Key            string                 `json:"key"`
	Document       ruletable.JSONText     `json:"document,omitempty"`
	Ended          bool                   `json:"ended,omitempty"`  // the document and all grants have ended
	Unused         string                 `json:"unused,omitempty"` // why no request looks the key up
	Error          string                 `json:"error,omitempty"`  // the document cannot be read
	Grants         []operator.GrantReport `json:"grants,omitempty"`
	ruletable.Note                        // of its author

	Override *operator.OverrideReport `json:"-"` // nil if the document cannot be read
}

// overrideList lists the overrides of a rule, and counts them.
type overrideList struct {
	*command.Console
	rule   string // or rules.PlanOverrides
	prefix string // of the keys, as they are listed
	limit  int    // 0 for all

	set                        *rules.Set
	listed, unreadable, unused int
	reason                     string // why the first unused one is not looked up
}

func listCommand(c *command.Console) *cobra.Command {
	l := overrideList{Console: c}
	cmd := &cobra.Command{
		Use:   "list RULE --rules dynamodb://TABLE",
		Short: "List the overrides of a rule",
		Long: `List shows the keys of a rule that have an override in the table, in the order of their bytes, each on a line
as soon as it is read. It marks overrides that have ended. It also marks overrides that no request looks up,
because they were set when the rule had keys of another form, or other rules were in force. Overrides in the
rules themselves are counted, not listed.

With --json each line is an object. Such lines can be imported again.`,
		Example: `  slidegate overrides list api --rules dynamodb://slidegate-rules
  slidegate overrides list api --prefix tenant:a --limit 100 --rules dynamodb://slidegate-rules
  slidegate overrides list plan --json --rules dynamodb://slidegate-rules > plans.jsonl`,
		Args: command.Positional(1, 1, "a rule, or plan"),
	}
	cmd.Flags().StringVar(&l.prefix, "prefix", "", "only keys that begin with `TEXT`, as keys are listed")
	command.Limit(cmd, &l.limit, "keys", 0)
	return command.ListTable(c, cmd, l.show, printListed)
}

// show passes the overrides in the order of their keys, each as soon as it is
// read. It notes the ones that the list omits.
func (l *overrideList) show(ctx context.Context, table *ruletable.Table, args []string, show func(*listedOverride) error) (err error) {
	l.rule = args[0]
	if l.set, _, err = session.InForce(ctx, table); err != nil {
		return err
	}
	now := time.Now()
	for stored, err := range table.Overrides(ctx, l.rule, l.prefix) {
		if errors.Is(err, ruletable.ErrUnreadable) {
			l.unreadable++
			l.Note("%v", err)
			continue
		}
		if err != nil {
			return err
		}
		if err := show(l.report(stored, now)); err != nil {
			return err
		}
		if l.listed++; l.listed == l.limit {
			break
		}
	}
	return l.conclude()
}

func (l *overrideList) report(o *ruletable.Override, now time.Time) *listedOverride {
	report := &listedOverride{Key: o.Key, Document: ruletable.JSONText(o.Document), Note: o.Note, Unused: why(l.set.CheckOverride(l.rule, o.Key, &rules.Override{}))}
	if report.Unused != "" {
		l.unused++
		l.reason = cmp.Or(l.reason, report.Unused)
	}
	parsed, err := operator.ParseStored(o)
	if err != nil {
		report.Error = err.Error()
		return report
	}
	report.Override = operator.ReportOverride(parsed, &o.Note, o.Grants, now)
	report.Grants, report.Ended = report.Override.Grants, report.Override.HasEnded()
	return report
}

// conclude reports what the list cannot show, such as unreadable overrides.
func (l *overrideList) conclude() error {
	gone := operator.CheckOverrideRule(l.set, l.rule)
	switch {
	case gone == nil && l.set.OverridesHashed(l.rule) && l.prefix != "" && !strings.HasPrefix(l.prefix, "%"):
		l.Note("no prefix such as %s finds overrides of %s, whose keys are hashed; `slidegate overrides get %s KEY` finds one",
			text.Printable(l.prefix), l.rule, l.rule)
	case l.listed+l.unreadable > 0:
	case gone != nil:
		return gone
	case l.prefix != "":
		l.Note("the table holds no overrides of %s whose keys begin with %s", l.rule, text.Printable(l.prefix))
	default:
		l.Note("the table holds no overrides of %s", l.rule)
	}
	if l.unused > 0 {
		l.Warn("no request looks up %s of these, the first because %s", text.Thousands(l.unused), l.reason)
	}
	if n := len(l.set.Document().Overrides[l.rule]); n > 0 {
		l.Note("the rules themselves hold %s besides", text.Plural(n, "override"))
	}
	if l.unreadable > 0 {
		return fmt.Errorf("%s cannot be read; `slidegate overrides delete` removes them", text.Plural(l.unreadable, "override"))
	}
	return nil
}

func printListed(p *command.Printer, r *listedOverride) {
	mark := ""
	if r.Ended {
		mark = "ended: "
	}
	if r.Unused != "" {
		mark = "not looked up: " + mark
	}
	p.Line("%s  %s%s%s", text.Printable(r.Key), mark, strings.Join(r.Override.Lines(), "; "), text.Printable(r.Error))
}

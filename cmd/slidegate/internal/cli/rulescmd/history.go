package rulescmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

func historyCommand(c *command.Console) *cobra.Command {
	return listing[ruletable.Event]{
		name: "events", things: "changes", read: (*ruletable.Table).History,
		none:   "nothing has been changed in %s",
		layout: "llll", header: []string{"when", "who", "what", "why"},
		row: func(e *ruletable.Event) []string {
			return []string{text.Stamp(e.When), text.Printable(e.Who), text.Printable(eventText(e)), text.Printable(e.Why)}
		},
	}.command(c, &cobra.Command{
		Use:   "history --rules dynamodb://TABLE",
		Short: "Show who changed what, and why",
		Long: `History shows every change of a rules table, the newest first: versions published and rolled back, overrides set,
deleted and imported, grants, counters reset, and API keys made, revoked and rotated.`,
		Example: `  slidegate rules history --rules dynamodb://slidegate-rules
  slidegate rules history --rules dynamodb://slidegate-rules --limit 100 --json`,
	})
}

// eventText describes a change.
func eventText(e *ruletable.Event) string {
	switch e.Kind {
	case ruletable.Published:
		return fmt.Sprintf("version %d published%s", e.To, after(e.From))
	case ruletable.RolledBack:
		return fmt.Sprintf("version %d in force again%s", e.To, after(e.From))
	case ruletable.OverrideSet:
		return fmt.Sprintf("%s %s: %s%s", e.Rule, e.Key, e.After, beforeText(e))
	case ruletable.OverrideDeleted:
		return fmt.Sprintf("%s %s: deleted%s", e.Rule, e.Key, beforeText(e))
	case ruletable.Granted:
		if e.Grant != nil {
			return fmt.Sprintf("%s %s: %s", engine.PolicyName(e.Rule, e.Grant.Limit), e.Key,
				grantText(&ruletable.Grant{Add: e.Grant.Add, Until: e.Grant.Until}))
		}
	case ruletable.CounterReset:
		return fmt.Sprintf("%s %s: counter reset", e.Rule, e.Key)
	case ruletable.OverridesImported:
		return importText(e)
	case ruletable.APIKeyCreated, ruletable.APIKeyRevoked, ruletable.APIKeyRotated:
		return apiKeyText(e)
	}
	return string(e.Kind)
}

func apiKeyText(e *ruletable.Event) string {
	key := "API key " + e.APIKey
	if e.ID != e.APIKey && e.ID != "" {
		key += " of " + e.ID
	}
	switch e.Kind {
	case ruletable.APIKeyRotated:
		return fmt.Sprintf("%s: replaced by %s, ends at %s", key, e.NewAPIKey, text.Stamp(e.Until))
	case ruletable.APIKeyRevoked:
		return key + ": revoked"
	}
	if e.Until.IsZero() {
		return key + ": created"
	}
	return key + ": created, ends at " + text.Stamp(e.Until)
}

func importText(e *ruletable.Event) string {
	switch {
	case e.Unfinished:
		return fmt.Sprintf("%s: import of %s begun and not finished", e.Rule, text.Plural(e.Total, "override"))
	case e.Failure != "":
		return fmt.Sprintf("%s: %s of %s overrides imported, then %s", e.Rule, text.Thousands(e.Written), text.Thousands(e.Total), e.Failure)
	case e.Unchanged > 0:
		return fmt.Sprintf("%s: %s imported, %s unchanged", e.Rule, text.Plural(e.Written, "override"), text.Thousands(e.Unchanged))
	}
	return fmt.Sprintf("%s: %s imported", e.Rule, text.Plural(e.Written, "override"))
}

func after(version int64) string {
	if version == 0 {
		return ""
	}
	return fmt.Sprintf(" after %d", version)
}

// beforeText describes what a change replaced; empty for nothing.
func beforeText(e *ruletable.Event) string {
	var before []string
	if e.Before != "" {
		before = append(before, string(e.Before))
	}
	for i := range e.Grants {
		before = append(before, grantText(&e.Grants[i]))
	}
	if before == nil {
		return ""
	}
	return ", before: " + strings.Join(before, ", ")
}

func grantText(g *ruletable.Grant) string {
	return strings.TrimSpace("+"+text.Thousands(g.Add)+" "+g.Limit) + " until " + text.Stamp(g.Until)
}

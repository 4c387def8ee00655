// Package apikeyscmd has the commands of slidegate apikeys.
package apikeyscmd

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// Command returns slidegate apikeys.
func Command(c *command.Console) *cobra.Command {
	cmd := command.Group("apikeys", "Make and revoke API keys",
		createCommand(c), listCommand(c), revokeCommand(c), rotateCommand(c))
	cmd.Long = `An API key such as sg_59b94cffe8b34dbf_7DQ4PWBHSX2LKNAVGTC3MRE6YF stands for a caller. Its first part, up to the
second _, is its name, which is public: commands, lists and the history have it. The rest is secret. The
rules table stores its SHA-256 alone.

The key's id is the caller in rules, {apikey}, and its claims are those of a token, {jwt.NAME}. Keys with the
same id share counters and overrides.`
	return cmd
}

func createCommand(c *command.Console) *cobra.Command {
	var where flags.Locations
	var o operator.APIKeyOptions
	var caller request.Request
	var note ruletable.Note
	cmd := &cobra.Command{
		Use:   "create --why TEXT --rules dynamodb://TABLE",
		Short: "Make an API key, and print it once",
		Long: `Create makes an API key, and prints it. Nothing can show it again. It works at once.

--plan is short for the claim plan, which rules read by plan: {from: jwt.plan}.`,
		Example: `  slidegate apikeys create --id acme --plan pro --why "contract 31" --rules dynamodb://slidegate-rules
  slidegate apikeys create --claim tenant=acme --for 90d --why trial --rules dynamodb://slidegate-rules
  slidegate apikeys create --claims '{"tenant": "acme", "seats": 12}' --why "contract 31" --rules dynamodb://slidegate-rules`,
		Args: flags.NoArguments,
	}
	where.AddTable(cmd)
	cmd.Flags().StringVar(&o.ID, "id", "", "the caller's `ID` in rules, {apikey} (default: the key's name)")
	cmd.Flags().StringVar(&o.Plan, "plan", "", "the caller's plan, a `NAME` among the rules' plans")
	flags.Claims(cmd, &caller, "the key's caller")
	flags.Refuse(cmd, func() bool { return o.Plan != "" && caller.Claims["plan"] != nil }, "--plan sets the claim plan: give one of the two")
	flags.Until(cmd, &o.Expires, "when it ends by itself")
	flags.Note(cmd, &note, nil)
	return command.Reporting(c, cmd, func(ctx context.Context, _ []string) (*operator.NewAPIKeyReport, error) {
		o.Table, o.Claims = where.RulesTable, caller.Claims
		return operator.CreateAPIKey(ctx, &o, note, c)
	}, printNewAPIKey)
}

func printNewAPIKey(p *term.Printer, r *operator.NewAPIKeyReport) {
	p.Line("API key %s of %s", r.Name, r.ID)
	var rows term.Labelled
	rows.Add("  secret", r.Secret)
	rows.Add("  plan", text.Printable(r.Plan))
	rows.Add("  claims", text.Printable(string(r.Claims)))
	if !r.Expires.IsZero() {
		rows.Add("  expires", text.Stamp(r.Expires))
	}
	if r.Replaces != "" {
		rows.Add("  replaces", r.Replaces+", which ends at "+text.Stamp(r.ReplacedUntil))
	}
	p.Table("ll", rows)
}

func listCommand(c *command.Console) *cobra.Command {
	var where flags.Locations
	var o operator.APIKeyListOptions
	cmd := &cobra.Command{
		Use:   "list --rules dynamodb://TABLE",
		Short: "List the API keys",
		Long: `List shows the names of the API keys, whose they are, and who made them, each on a line as soon as it is read.

With --json each line is an object.`,
		Example: `  slidegate apikeys list --rules dynamodb://slidegate-rules
  slidegate apikeys list --id acme --all --json --rules dynamodb://slidegate-rules`,
		Args: flags.NoArguments, ValidArgsFunction: flags.NoWords,
	}
	where.AddTable(cmd)
	cmd.Flags().StringVar(&o.ID, "id", "", "only keys with this `ID`")
	cmd.Flags().BoolVar(&o.All, "all", false, "also keys that are revoked or expired")
	asJSON := flags.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o.Table = where.RulesTable
		return operator.ListAPIKeys(cmd.Context(), &o, c, func(r *operator.APIKeyReport) error {
			return command.ShowLine(c.Stdout, *asJSON, r, printAPIKey)
		})
	}
	return cmd
}

func printAPIKey(p *term.Printer, r *operator.APIKeyReport) {
	about := []string{r.ID}
	if r.Plan != "" {
		about = append(about, "plan "+text.Printable(r.Plan))
	}
	if r.Claims != "" {
		about = append(about, text.Printable(string(r.Claims)))
	}
	switch {
	case r.State == "revoked":
		about = append(about, "revoked "+text.Stamp(r.Revoked))
	case !r.Expires.IsZero():
		about = append(about, strings.TrimLeft(operator.Ending(r.Expires, r.State == "active"), ", "))
	}
	if r.Successor != "" {
		about = append(about, "replaced by "+r.Successor)
	}
	p.Line("%s  %s%s", r.Name, strings.Join(about, ", "), operator.Because(r.Why)+operator.Author(r.Who, r.When, false))
}

func revokeCommand(c *command.Console) *cobra.Command {
	var where flags.Locations
	var note ruletable.Note
	cmd := &cobra.Command{
		Use:   "revoke KEY --why TEXT --rules dynamodb://TABLE",
		Short: "End an API key",
		Long: `Revoke ends an API key for good: within ten seconds no request with it is accepted. KEY is its name, or the
whole key, such as one that has leaked.`,
		Example: `  slidegate apikeys revoke sg_59b94cffe8b34dbf --why "leaked in ticket 91" --rules dynamodb://slidegate-rules`,
		Args:    flags.Positional(1, 1, "the name of an API key"),
	}
	where.AddTable(cmd)
	flags.Note(cmd, &note, nil)
	return command.Reporting(c, cmd, func(ctx context.Context, args []string) (*operator.APIKeyReport, error) {
		return operator.RevokeAPIKey(ctx, where.RulesTable, args[0], note, c)
	}, func(p *term.Printer, r *operator.APIKeyReport) {
		p.Line("API key %s is revoked", r.Name)
	})
}

func rotateCommand(c *command.Console) *cobra.Command {
	var where flags.Locations
	var note ruletable.Note
	overlap := 24 * time.Hour
	cmd := &cobra.Command{
		Use:   "rotate KEY --why TEXT --rules dynamodb://TABLE",
		Short: "Replace an API key by a new one",
		Long: `Rotate makes a new API key with the id, plan, claims and expiry of another, and prints it. Nothing can show it
again. The old one goes on for a while, so that clients can change over. Counters and overrides stay, because
they belong to the id.`,
		Example: `  slidegate apikeys rotate sg_59b94cffe8b34dbf --why "yearly rotation" --rules dynamodb://slidegate-rules
  slidegate apikeys rotate sg_59b94cffe8b34dbf --overlap 0 --why "leaked in ticket 91" --rules dynamodb://slidegate-rules`,
		Args: flags.Positional(1, 1, "the name of an API key"),
	}
	where.AddTable(cmd)
	flags.Span(cmd, &overlap, "overlap", "how long the old key goes on, a `TIME` such as 90m, 12h or 7d; 0 ends it within ten seconds (default: 24h)")
	flags.Note(cmd, &note, nil)
	return command.Reporting(c, cmd, func(ctx context.Context, args []string) (*operator.NewAPIKeyReport, error) {
		return operator.RotateAPIKey(ctx, where.RulesTable, args[0], overlap, note, c)
	}, printNewAPIKey)
}

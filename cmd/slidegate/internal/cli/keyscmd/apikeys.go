package keyscmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/decide/apikeys"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// APIKeysCommand returns slidegate apikeys.
func APIKeysCommand(c *command.Console) *cobra.Command {
	cmd := command.Group("apikeys", "Make and revoke API keys",
		createCommand(c), listKeysCommand(c), revokeCommand(c), rotateCommand(c))
	cmd.Long = `An API key such as sg_59b94cffe8b34dbf_7DQ4PWBHSX2LKNAVGTC3MRE6YF stands for a caller. Its first part, up to the
second _, is its name, which is public: commands, lists and the history have it. The rest is secret. The
rules table stores its SHA-256 alone.

The key's id is the caller in rules, {apikey}, and its claims are those of a token, {jwt.NAME}. Keys with the
same id share counters and overrides.`
	return cmd
}

// NewKeyReport is a new API key, with its secret, which nothing can show again.
type NewKeyReport struct {
	Secret string `json:"secret"` // the whole key, as clients send it
	ruletable.APIKey
	// Replaces is the key that a rotation has replaced, which ends at ReplacedUntil.
	Replaces      string    `json:"replaces,omitempty"`
	ReplacedUntil time.Time `json:"replaced_until,omitzero"`
}

// keepSecret is the note beside a new key.
const keepSecret = "keep the secret now: nothing can show it again"

// keyReport is a key of a list, or one that was revoked.
type keyReport struct {
	ruletable.APIKey
	State string `json:"state"` // active, expired or revoked
}

func reportKey(k *ruletable.APIKey, now time.Time) *keyReport {
	state := "active"
	switch {
	case !k.Revoked.IsZero():
		state = "revoked"
	case k.Expired(now):
		state = "expired"
	}
	return &keyReport{*k, state}
}

func createCommand(c *command.Console) *cobra.Command {
	var k ruletable.APIKey
	var caller request.Request
	cmd := &cobra.Command{
		Use:   "create --why TEXT --rules dynamodb://TABLE",
		Short: "Make an API key, and print it once",
		Long: `Create makes an API key, and prints it. Nothing can show it again. It works at once.

--plan is short for the claim plan, which rules read by plan: {from: jwt.plan}.`,
		Example: `  slidegate apikeys create --id acme --plan pro --why "contract 31" --rules dynamodb://slidegate-rules
  slidegate apikeys create --claim tenant=acme --for 90d --why trial --rules dynamodb://slidegate-rules
  slidegate apikeys create --claims '{"tenant": "acme", "seats": 12}' --why "contract 31" --rules dynamodb://slidegate-rules`,
		Args: command.NoArguments,
	}
	cmd.Flags().StringVar(&k.ID, "id", "", "the caller's `ID` in rules, {apikey} (default: the key's name)")
	cmd.Flags().StringVar(&k.Plan, "plan", "", "the caller's plan, a `NAME` among the rules' plans")
	command.Claims(cmd, &caller, "the key's caller")
	command.Refuse(cmd, func() bool { return k.Plan != "" && caller.Claims["plan"] != nil }, "--plan sets the claim plan: give one of the two")
	command.Until(cmd, &k.Expires, "when it ends by itself")
	command.Note(cmd, &k.Note, nil)
	return command.OnTable(c, cmd, func(ctx context.Context, table *ruletable.Table, _ []string) (*NewKeyReport, error) {
		return createKey(ctx, c, table, k, caller.Claims)
	}, printNewKey)
}

// createKey makes a key and stores its hash. It warns if the rules in force do not
// verify such keys, or do not give the caller the plan.
func createKey(ctx context.Context, c *command.Console, table *ruletable.Table, k ruletable.APIKey, claims map[string]any) (*NewKeyReport, error) {
	ctx, cancel := context.WithTimeout(ctx, session.ChangeTime)
	defer cancel()
	if err := warnOfRules(ctx, c, table, &k, claims); err != nil {
		return nil, err
	}
	made := apikeys.New()
	k.Name, k.Hash, k.ID = made.Name(), made.Hash(), cmp.Or(k.ID, made.Name())
	if len(claims) > 0 {
		text, err := json.Marshal(claims)
		if err != nil {
			return nil, err
		}
		k.Claims = ruletable.JSONText(text)
	}
	if err := table.CreateAPIKey(ctx, k); err != nil {
		return nil, err
	}
	c.Note(keepSecret)
	return &NewKeyReport{Secret: made.Secret(), APIKey: k}, nil
}

// warnOfRules warns if the rules in force would take no key of the table, or
// would not give the caller its plan. There may be no rules yet. Only a key with
// a plan needs rules that can be read.
func warnOfRules(ctx context.Context, c *command.Console, table *ruletable.Table, k *ruletable.APIKey, claims map[string]any) error {
	set, _, err := session.InForce(ctx, table)
	if errors.Is(err, ruletable.ErrNone) || err != nil && k.Plan == "" {
		return nil
	}
	if err != nil {
		return err
	}
	switch a := set.Document().Authentication; {
	case a == nil || a.APIKey == nil:
		c.Warn("the rules in force do not verify API keys: write authentication: {api_key: {}}")
	case a.APIKey.From != "":
		c.Warn("the rules in force take API Gateway's keys and not this one: remove authentication.api_key.from")
	}
	caller := &request.Request{APIKey: k.ID, Claims: map[string]any{"plan": k.Plan}}
	maps.Copy(caller.Claims, claims)
	if k.Plan != "" && set.Plan(caller) != k.Plan {
		c.Warn("the rules in force do not give the key's caller the plan %s: %s", text.Printable(k.Plan),
			cmp.Or(set.WhyPlan(caller), "they read none from requests: write plan: {from: jwt.plan}"))
	}
	return nil
}

func printNewKey(p *command.Printer, r *NewKeyReport) {
	p.Line("API key %s of %s", r.Name, r.ID)
	var rows command.Labelled
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

func listKeysCommand(c *command.Console) *cobra.Command {
	var id string
	var all bool
	cmd := &cobra.Command{
		Use:   "list --rules dynamodb://TABLE",
		Short: "List the API keys",
		Long: `List shows the names of the API keys, whose they are, and who made them, each on a line as soon as it is read.

With --json each line is an object.`,
		Example: `  slidegate apikeys list --rules dynamodb://slidegate-rules
  slidegate apikeys list --id acme --all --json --rules dynamodb://slidegate-rules`,
		Args: command.NoArguments, ValidArgsFunction: command.NoWords,
	}
	cmd.Flags().StringVar(&id, "id", "", "only keys with this `ID`")
	cmd.Flags().BoolVar(&all, "all", false, "also keys that are revoked or expired")
	return command.ListTable(c, cmd, func(ctx context.Context, table *ruletable.Table, _ []string, show func(*keyReport) error) error {
		return listKeys(ctx, c, table, id, all, show)
	}, printKey)
}

// listKeys shows keys in the order of their names, each as soon as it is read; an
// empty id is that of all.
func listKeys(ctx context.Context, c *command.Console, table *ruletable.Table, id string, all bool, show func(*keyReport) error) error {
	now, listed, unreadable, ended := time.Now(), 0, 0, 0
	for k, err := range table.APIKeys(ctx, "") {
		if errors.Is(err, ruletable.ErrUnreadableKey) {
			unreadable++
			c.Note("%v", err)
			continue
		}
		if err != nil {
			return err
		}
		report := reportKey(k, now)
		switch {
		case id != "" && k.ID != id:
			continue
		case !all && report.State != "active":
			ended++
			continue
		}
		if err := show(report); err != nil {
			return err
		}
		listed++
	}
	if ended > 0 {
		c.Note("%s revoked or expired: --all lists them", text.Plural(ended, "key"))
	}
	if listed+ended+unreadable == 0 {
		c.Note("the table holds no such API keys")
	}
	return nil
}

func printKey(p *command.Printer, r *keyReport) {
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
	var note ruletable.Note
	cmd := &cobra.Command{
		Use:   "revoke KEY --why TEXT --rules dynamodb://TABLE",
		Short: "End an API key",
		Long: `Revoke ends an API key for good: within ten seconds no request with it is accepted. KEY is its name, or the
whole key, such as one that has leaked.`,
		Example: `  slidegate apikeys revoke sg_59b94cffe8b34dbf --why "leaked in ticket 91" --rules dynamodb://slidegate-rules`,
		Args:    command.Positional(1, 1, "the name of an API key"),
	}
	command.Note(cmd, &note, nil)
	return command.OnTable(c, cmd, func(ctx context.Context, table *ruletable.Table, args []string) (*keyReport, error) {
		name, err := apikeys.ParseName(args[0])
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, session.ChangeTime)
		defer cancel()
		k, err := table.RevokeAPIKey(ctx, name, note)
		if err != nil {
			return nil, err
		}
		if k == nil {
			c.Warn("the item of %s could not be read, and is removed", name)
			k = &ruletable.APIKey{Name: name, Revoked: note.When}
		}
		return reportKey(k, note.When), nil
	}, func(p *command.Printer, r *keyReport) {
		p.Line("API key %s is revoked", r.Name)
	})
}

func rotateCommand(c *command.Console) *cobra.Command {
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
		Args: command.Positional(1, 1, "the name of an API key"),
	}
	command.Span(cmd, &overlap, "overlap", "how long the old key goes on, a `TIME` such as 90m, 12h or 7d; 0 ends it within ten seconds (default: 24h)")
	command.Note(cmd, &note, nil)
	return command.OnTable(c, cmd, func(ctx context.Context, table *ruletable.Table, args []string) (*NewKeyReport, error) {
		name, err := apikeys.ParseName(args[0])
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, session.ChangeTime)
		defer cancel()
		made := apikeys.New()
		next := ruletable.APIKey{Name: made.Name(), Hash: made.Hash()}
		old, created, err := table.RotateAPIKey(ctx, name, next, note.When.Add(overlap).UTC().Truncate(time.Second), note)
		if err != nil {
			return nil, err
		}
		c.Note(keepSecret)
		return &NewKeyReport{Secret: made.Secret(), APIKey: *created, Replaces: old.Name, ReplacedUntil: old.Expires}, nil
	}, printNewKey)
}

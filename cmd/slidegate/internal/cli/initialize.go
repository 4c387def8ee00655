package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/outfile"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/starter"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
)

// defaultRulesFile is what init writes unless it is given a name.
const defaultRulesFile = "rules.yaml"

func initCommand(c *command.Console) *cobra.Command {
	a := starter.Answers{Per: starter.Address, Limit: starter.DefaultLimit}
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write the first rules",
		Long: `Init asks what to limit, and writes a rules file with one limit and comments, by default rules.yaml. It shows
what to do next. With any of its flags, or without a terminal, it asks nothing and uses the defaults for the
rest. It never overwrites a file.`,
		Example: `  slidegate init
  slidegate init --limit 20/second --shadow
  slidegate init api.yaml --per user --issuer https://id.example.com --audience api`,
		Args:              flags.Positional(0, 1, "one rules file at most"),
		ValidArgsFunction: flags.FilesOf("yaml", "yml"),
	}
	flags.Choice(cmd, &a.Per, "per", "who has a limit of its own, each `CALLER`: address, api-key or user (default: address)",
		starter.Callers...)
	cmd.Flags().StringVar(&a.Limit, "limit", a.Limit, "the `RATE` of each, such as 20/second or 1000 per 15m")
	cmd.Flags().StringVar(&a.Issuer, "issuer", "", "the `URL` of the issuer of users' tokens; --per user needs it")
	cmd.Flags().StringVar(&a.Audience, "audience", "", "the `AUDIENCE` of users' tokens; --per user needs it")
	cmd.Flags().BoolVar(&a.Shadow, "shadow", false, "count only, and deny nothing")
	flags.Check(cmd, func() error { return refuseTokenFlags(&a) })
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path := defaultRulesFile
		if len(args) > 0 {
			path = args[0]
		}
		return initialize(cmd.Context(), c, path, a, cmd.Flags().NFlag() > 0, c.Interactive())
	}
	return cmd
}

func refuseTokenFlags(a *starter.Answers) error {
	switch given := a.Issuer != "" || a.Audience != ""; {
	case a.Per == starter.User && (a.Issuer == "" || a.Audience == ""):
		return errors.New("--per user needs --issuer and --audience: which tokens to trust")
	case a.Limit == "":
		return errors.New("--limit is empty: want a rate, such as 100/minute")
	case a.Per != starter.User && given:
		return errors.New("--issuer and --audience are for --per user")
	}
	return nil
}

// initialize writes a first rules file. It asks on a terminal, unless flags have
// the answers.
func initialize(ctx context.Context, c *command.Console, path string, a starter.Answers, flagged, terminal bool) (err error) {
	if err := outfile.CheckNew(path); err != nil {
		return err
	}
	switch {
	case terminal && !flagged:
		d := dialogue{Console: c, ctx: ctx, in: bufio.NewReader(c.Stdin), answers: a}
		if a, err = d.ask(); err != nil {
			return err
		}
	case !flagged:
		c.Note("no terminal to ask on: limiting each %s to %s, the defaults; --per, --limit and --shadow change them", a.Per, a.Limit)
	}
	rules, err := starter.Compose(a)
	if err != nil {
		return err
	}
	if err := outfile.WriteNew(path, string(rules)); err != nil {
		return err
	}
	return showNext(c, path, &a)
}

// dialogue asks on a terminal.
type dialogue struct {
	*command.Console
	ctx     context.Context
	in      *bufio.Reader
	answers starter.Answers // always valid, so that each new one can be checked alone
}

// ask asks for the answers. Enter takes what is in brackets.
func (d *dialogue) ask() (starter.Answers, error) {
	a := &d.answers
	a.Issuer, a.Audience = "https://id.example.com", "api"
	err := d.question("Who has a limit of its own: each address, api-key or user?", &a.Per, a.Per)
	if err == nil && a.Per == starter.User {
		if err = d.question("Which issuer's tokens name the users, by its URL?", &a.Issuer, ""); err == nil {
			err = d.question("Which audience do the tokens have?", &a.Audience, "")
		}
	}
	if err == nil {
		err = d.question("How much may each send, such as 20/second or 1000 per 15m?", &a.Limit, a.Limit)
	}
	if err != nil {
		return *a, err
	}
	for {
		answer, err := d.Ask(d.ctx, d.in, "Count only at first, and deny nothing? [y/N] ")
		switch strings.ToLower(answer) {
		case "y", "yes":
			a.Shadow = true
			return *a, err
		case "", "n", "no":
			return *a, err
		}
		d.Note("%q: want y or n", answer)
	}
}

// question asks until the answers with the new one make valid rules.
func (d *dialogue) question(prompt string, to *string, standard string) error {
	if prompt += " "; standard != "" {
		prompt += "[" + standard + "] "
	}
	for valid := *to; ; *to = valid {
		answer, err := d.Ask(d.ctx, d.in, prompt)
		if err != nil {
			return err
		}
		if *to = cmp.Or(answer, standard); *to == "" {
			d.Note("there is no default: write one")
			continue
		}
		if _, err = starter.Compose(d.answers); err == nil {
			return nil
		}
		d.Note("%v", err)
	}
}

// showNext prints what to do with the new file, a line for each command.
func showNext(c *command.Console, path string, a *starter.Answers) error {
	p := term.NewPrinter(c.Stdout)
	does := "limits each %s to %s"
	if a.Shadow {
		does = "counts each %s by %s, and denies nothing"
	}
	p.Line("%s "+does+". Its comments say what to change. Next:", text.Printable(path), a.Per, a.Limit)
	p.Line("")
	file := text.ShellWords(path)
	rows := [][]string{
		{"  try it, on http://127.0.0.1:8080", "slidegate serve --rules " + file},
		{"  see what it does to a log", "slidegate replay access.log --rules " + file},
		{"  find the limit that a log needs", "slidegate suggest access.log --key " + a.Key()},
		{"  put it before an API on AWS", "slidegate aws deploy --rules " + file},
	}
	if a.Per == starter.APIKey {
		rows = append(rows, []string{"  make keys, once it is deployed", "slidegate apikeys create --help"})
	}
	p.Table("ll", rows)
	return p.Err
}

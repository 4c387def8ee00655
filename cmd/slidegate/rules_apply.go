package main

import (
	"context"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// publishTime bounds what follows once the table has answered: a document may be large and a line slow.
const publishTime = 30 * time.Second

type applyFlags struct {
	placeFlags
	who, why string
	json     bool
}

func (c *cli) applyCommand() *cobra.Command {
	var f applyFlags
	cmd := &cobra.Command{
		Use:   "apply FILE --rules dynamodb://TABLE",
		Short: "Publish a rules file",
		Long: `Apply checks a rules file and publishes it to the rules table as a new version. Publishing is atomic: limiters
see the old version whole or the new one whole, within ten seconds. If somebody else publishes meanwhile,
nothing changes and apply says so.`,
		Example: `  slidegate rules apply rules.yaml --rules dynamodb://slidegate-rules --why "launch week"`,
		Args:    positional(1, 1, "one rules file"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.apply(cmd, &f, args[0]) },
	}
	f.addRules(cmd)
	cmd.Flags().StringVar(&f.why, "why", "", "why the rules change: a `TEXT` for the history")
	cmd.Flags().StringVar(&f.who, "who", "", "the `NAME` of who changes them (default: the user of this system)")
	jsonFlag(cmd, &f.json)
	return cmd
}

func (c *cli) apply(cmd *cobra.Command, f *applyFlags, file string) error {
	_, table, err := f.rulesPlace(cmd)
	if err != nil {
		return err
	}
	if table == "" {
		return usagef(cmd, "--rules %s: rules are published to a dynamodb://TABLE", f.rules)
	}
	who, err := author(cmd, f.who)
	if err != nil {
		return err
	}
	set, document, err := readRules(file)
	if err != nil {
		return err
	}
	c.warn(set.Warnings)
	version, err := publish(cmd.Context(), table, ruletable.Version{Document: document, Who: who, When: time.Now(), Why: f.why})
	if err != nil {
		return err
	}
	if f.json {
		return printJSON(c.stdout, struct {
			Table   string `json:"table"`
			Version int64  `json:"version"`
		}{table, version})
	}
	p := printer{w: c.stdout}
	p.line("%s is version %d of table %s and in force", file, version, table)
	return p.err
}

func publish(ctx context.Context, table string, v ruletable.Version) (int64, error) {
	client, err := connect(ctx, func(ctx context.Context, client *dynamo.Client) error { return probeRules(ctx, client, table) })
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	return ruletable.New(client, table).Publish(ctx, v)
}

// author returns who publishes.
func author(cmd *cobra.Command, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	u, err := user.Current()
	if err != nil {
		return "", usagef(cmd, "--who is missing, and the system does not say who runs this: %w", err)
	}
	return u.Username, nil
}

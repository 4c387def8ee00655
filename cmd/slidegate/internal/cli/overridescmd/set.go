package overridescmd

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
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// overrideDocument is an override as the table stores it.
type overrideDocument struct {
	Capacity  ruledoc.Capacities `json:"capacity,omitempty"`
	Deny      bool               `json:"deny,omitempty"`
	Limits    json.RawMessage    `json:"limits,omitempty"`
	Plan      string             `json:"plan,omitempty"`
	Unlimited bool               `json:"unlimited,omitempty"`
	Until     time.Time          `json:"until,omitzero"`
	Why       string             `json:"why"`
}

func setCommand(c *command.Console) *cobra.Command {
	var where flags.Locations
	var note ruletable.Note
	var o overrideDocument
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
		Args: flags.Positional(2, 2, "a rule, or plan, and a key"),
	}
	where.AddTable(cmd)
	flags.Note(cmd, &note, nil)
	capacities := cmd.Flags().StringArray("capacity", nil, "another capacity, `[LIMIT=]N`; may be repeated for several limits")
	flags.Var(cmd, &o.Limits, "limits", "limits that replace the rule's, a `JSON` list as in rules", parseLimits)
	cmd.Flags().BoolVar(&o.Unlimited, "unlimited", false, "the rule does not limit the key")
	cmd.Flags().BoolVar(&o.Deny, "deny", false, "every request of the key is refused")
	cmd.Flags().StringVar(&o.Plan, "plan", "", "the caller's plan, a `NAME` among the rules' plans; for RULE plan")
	flags.Until(cmd, &o.Until, "when it ends by itself")
	flags.Check(cmd, func() (err error) {
		if o.Capacity, err = parseCapacities(*capacities); err != nil {
			return err
		}
		given := 0
		for _, one := range []bool{len(o.Capacity) > 0, o.Limits != nil, o.Unlimited, o.Deny, o.Plan != ""} {
			if one {
				given++
			}
		}
		if given != 1 {
			return fmt.Errorf("want one of --capacity, --limits, --unlimited, --deny and --plan, got %d", given)
		}
		return nil
	})
	return command.Reporting(c, cmd, func(ctx context.Context, args []string) (*operator.KeyChangeReport, error) {
		o.Why = note.Why
		document, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		target, err := operator.FindKey(ctx, where.RulesTable, args[0], args[1])
		if err != nil {
			return nil, err
		}
		return target.Set(ctx, string(document), note)
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
	byName := ruledoc.Capacities{}
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
		byName[name] = n
	}
	return byName, nil
}

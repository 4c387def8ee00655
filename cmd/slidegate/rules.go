package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/limit"
)

func (c *cli) rulesCommand() *cobra.Command {
	return group("rules", "Check, publish and look back at rules", c.validateCommand(), c.diffCommand(), c.applyCommand(), c.listCommand(),
		c.getCommand(), c.rollbackCommand(), c.historyCommand(), c.rulesImportCommand())
}

// policyName is the name by which clients know a limit: "rule", or "rule.limit" if the rule has several.
func policyName(rule string, l *limit.Limit) string { return policyOf(rule, l.Name) }

func policyOf(rule, limit string) string {
	if limit != "" {
		return rule + "." + limit
	}
	return rule
}

// spell writes a duration as rules files do: 250ms, 90s as 1m30s, 5m, 1h.
func spell(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/rules"
)

func (c *cli) rulesCommand() *cobra.Command {
	return group("rules", "Check and publish rules", c.validateCommand(), c.applyCommand())
}

// policyName is the name by which clients know a limit: "rule", or "rule.limit" if the rule has several.
func policyName(r *rules.Rule, i int) string {
	if name := r.Limits[i].Name; name != "" {
		return r.Name + "." + name
	}
	return r.Name
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

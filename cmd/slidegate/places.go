package main

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

const (
	memoryStore  = "memory"
	dynamoScheme = "dynamodb://"
)

// placeFlags are the flags that say where rules and counters are.
type placeFlags struct{ rules, store string }

func (p *placeFlags) add(cmd *cobra.Command, standardStore string) {
	p.addRules(cmd)
	cmd.Flags().StringVar(&p.store, "store", standardStore, "where the counters are, a `STORE`: memory or dynamodb://TABLE")
}

func (p *placeFlags) addRules(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.rules, "rules", "", "where the rules are: a `FILE` or dynamodb://TABLE")
}

// places are where rules and counters are.
type places struct {
	file     string // of rules, empty if they are in a table
	rules    string // the table of rules, empty if they are in a file
	counters string // the table of counters, empty if they are in memory
}

// resolve reads both flags.
func (p *placeFlags) resolve(cmd *cobra.Command) (where places, err error) {
	if where.file, where.rules, err = p.rulesPlace(cmd); err != nil {
		return where, err
	}
	where.counters, err = p.countersTable(cmd)
	return where, err
}

// resolveShared is resolve for commands that look at what other processes count.
func (p *placeFlags) resolveShared(cmd *cobra.Command) (where places, err error) {
	where, err = p.resolve(cmd)
	if err == nil && where.counters == "" {
		err = usagef(cmd, "--store memory: those counters are inside the process that counts; name a dynamodb://TABLE")
	}
	return where, err
}

func (p *placeFlags) rulesPlace(cmd *cobra.Command) (file, table string, err error) {
	table, ok, err := tableOf(cmd, "rules", p.rules)
	switch {
	case ok:
		return "", table, err
	case p.rules == "":
		return "", "", usagef(cmd, "--rules is missing: a file or dynamodb://TABLE")
	case strings.Contains(p.rules, "://"):
		return "", "", usagef(cmd, "--rules %s: want a file or dynamodb://TABLE", p.rules)
	}
	return p.rules, "", nil
}

func (p *placeFlags) countersTable(cmd *cobra.Command) (table string, err error) {
	table, ok, err := tableOf(cmd, "store", p.store)
	switch {
	case ok || p.store == memoryStore:
		return table, err
	case p.store == "":
		return "", usagef(cmd, "--store is missing: dynamodb://TABLE")
	case strings.HasPrefix(p.store, "redis://"):
		return "", usagef(cmd, "--store %s: redis is not supported; use memory or dynamodb://TABLE", p.store)
	}
	return "", usagef(cmd, "--store %s: want memory or dynamodb://TABLE", p.store)
}

var tableName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`)

// tableOf reads a flag's dynamodb://TABLE; ok is false for something else.
func tableOf(cmd *cobra.Command, flag, value string) (table string, ok bool, err error) {
	table, ok = strings.CutPrefix(value, dynamoScheme)
	if !ok {
		return "", false, nil
	}
	return table, true, checkTable(cmd, flag, table)
}

// checkTable checks a name by the rules of "Naming rules" in the DynamoDB Developer Guide.
func checkTable(cmd *cobra.Command, flag, table string) error {
	if !tableName.MatchString(table) {
		return usagef(cmd, "--%s: %q is no name of a table: 3 to 255 letters, digits, _ . -", flag, table)
	}
	return nil
}

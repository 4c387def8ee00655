package main

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/redis"
)

const (
	memoryStore  = "memory"
	dynamoScheme = "dynamodb://"
	redisPlace   = "redis://HOST:PORT/DB"
)

// placeFlags are the flags that say where rules and counters are.
type placeFlags struct{ rules, store string }

func (p *placeFlags) add(cmd *cobra.Command, standardStore string) {
	p.addRules(cmd)
	cmd.Flags().StringVar(&p.store, "store", standardStore, "where the counters are, a `STORE`: memory, dynamodb://TABLE or "+redisPlace)
}

func (p *placeFlags) addRules(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.rules, "rules", "", "where the rules are: a `FILE` or dynamodb://TABLE")
}

// places are where rules and counters are.
type places struct {
	file     string         // of rules, empty if they are in a table
	rules    string         // the table of rules, empty if they are in a file
	counters string         // the table of counters, empty if they are elsewhere
	redis    *redis.Address // of counters, nil if they are elsewhere
}

// inMemory reports whether the counters are in this process.
func (w *places) inMemory() bool { return w.counters == "" && w.redis == nil }

// storeName says where the counters are, without a password.
func (w *places) storeName() string {
	switch {
	case w.redis != nil:
		return w.redis.String()
	case w.counters != "":
		return dynamoScheme + w.counters
	}
	return memoryStore
}

// resolve reads both flags.
func (p *placeFlags) resolve(cmd *cobra.Command) (where places, err error) {
	if where.file, where.rules, err = p.rulesPlace(cmd); err != nil {
		return where, err
	}
	where.counters, where.redis, err = p.countersPlace(cmd)
	return where, err
}

// resolveShared is resolve for commands that look at what other processes count.
func (p *placeFlags) resolveShared(cmd *cobra.Command) (where places, err error) {
	where, err = p.resolve(cmd)
	if err == nil && where.inMemory() {
		err = usagef(cmd, "--store memory: those counters are inside the process that counts; name a dynamodb://TABLE or "+redisPlace)
	}
	return where, err
}

// resolveOptional is resolveShared for commands that can do without a store.
func (p *placeFlags) resolveOptional(cmd *cobra.Command) (where places, err error) {
	if p.store != "" {
		return p.resolveShared(cmd)
	}
	where.file, where.rules, err = p.rulesPlace(cmd)
	return where, err
}

func (p *placeFlags) rulesPlace(cmd *cobra.Command) (file, table string, err error) {
	table, ok, err := tableOf(cmd, "rules", p.rules)
	scheme, _, isURL := strings.Cut(p.rules, "://")
	switch {
	case ok:
		return "", table, err
	case p.rules == "":
		return "", "", usagef(cmd, "--rules is missing: a file or dynamodb://TABLE")
	case isURL:
		return "", "", usagef(cmd, "--rules %s://…: want a file or dynamodb://TABLE", scheme) // it may hold a password
	}
	return p.rules, "", nil
}

func (p *placeFlags) countersPlace(cmd *cobra.Command) (table string, address *redis.Address, err error) {
	table, ok, err := tableOf(cmd, "store", p.store)
	scheme, _, isURL := strings.Cut(p.store, "://")
	switch {
	case ok || p.store == memoryStore:
		return table, nil, err
	case p.store == "":
		return "", nil, usagef(cmd, "--store is missing: dynamodb://TABLE or "+redisPlace)
	case isURL && (scheme == "redis" || scheme == "rediss"):
		if address, err = redis.ParseAddress(p.store); err != nil {
			return "", nil, usagef(cmd, "--store: %w", err)
		}
		return "", address, nil
	case isURL:
		return "", nil, usagef(cmd, "--store %s://…: want memory, dynamodb://TABLE or "+redisPlace, scheme) // it may hold a password
	}
	return "", nil, usagef(cmd, "--store: want memory, dynamodb://TABLE or "+redisPlace) // it may hold a password too
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

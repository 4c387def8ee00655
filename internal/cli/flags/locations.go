package flags

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/redis"
	"github.com/slidegate/slidegate/internal/ruletable"
)

const (
	// Memory is the store that keeps the counters in this process.
	Memory    = "memory"
	redisForm = "redis://HOST:PORT/DB"
)

// Locations are the flags that say where rules and counters are.
type Locations struct{ Rules, Store string }

// Add adds --rules and --store.
func (f *Locations) Add(cmd *cobra.Command, defaultStore string) {
	f.AddRules(cmd)
	cmd.Flags().StringVar(&f.Store, "store", defaultStore, "where the counters are, a `STORE`: memory, dynamodb://TABLE or "+redisForm)
}

// AddRules adds --rules.
func (f *Locations) AddRules(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Rules, "rules", "", "where the rules are: a `FILE` or dynamodb://TABLE")
}

// Read reads both flags.
func (f *Locations) Read(cmd *cobra.Command) (where session.Locations, err error) {
	if where, err = f.ReadRules(cmd); err != nil {
		return where, err
	}
	where.CountersTable, where.Redis, err = f.storeLocation(cmd)
	return where, err
}

// ReadShared is Read for commands that look at what other processes
// count.
func (f *Locations) ReadShared(cmd *cobra.Command) (where session.Locations, err error) {
	where, err = f.Read(cmd)
	if err == nil && where.InMemory() {
		err = Usagef(cmd, "--store memory: those counters are inside the process that counts; name a dynamodb://TABLE or "+redisForm)
	}
	return where, err
}

// ReadOptional is ReadShared for commands that need no store.
func (f *Locations) ReadOptional(cmd *cobra.Command) (session.Locations, error) {
	if f.Store != "" {
		return f.ReadShared(cmd)
	}
	return f.ReadRules(cmd)
}

// ReadRules reads --rules.
func (f *Locations) ReadRules(cmd *cobra.Command) (where session.Locations, err error) {
	table, ok, err := tableOf(cmd, "rules", f.Rules)
	scheme, _, isURL := strings.Cut(f.Rules, "://")
	switch {
	case ok:
		where.RulesTable = table
		return where, err
	case f.Rules == "":
		return where, Usagef(cmd, "--rules is missing: a file or dynamodb://TABLE")
	case isURL:
		return where, Usagef(cmd, "--rules %s://…: want a file or dynamodb://TABLE", scheme) // it may hold a password
	}
	where.RulesFile = f.Rules
	return where, nil
}

// ReadTable reads a --rules that must be a table.
func (f *Locations) ReadTable(cmd *cobra.Command, purpose string) (string, error) {
	where, err := f.ReadRules(cmd)
	if err == nil && where.RulesTable == "" {
		err = Usagef(cmd, "--rules %s: %s", f.Rules, purpose)
	}
	return where.RulesTable, err
}

func (f *Locations) storeLocation(cmd *cobra.Command) (table string, address *redis.Address, err error) {
	table, ok, err := tableOf(cmd, "store", f.Store)
	scheme, _, isURL := strings.Cut(f.Store, "://")
	switch {
	case ok || f.Store == Memory:
		return table, nil, err
	case f.Store == "":
		return "", nil, Usagef(cmd, "--store is missing: dynamodb://TABLE or "+redisForm)
	case isURL && (scheme == "redis" || scheme == "rediss"):
		if address, err = redis.ParseAddress(f.Store); err != nil {
			return "", nil, Usagef(cmd, "--store: %w", err)
		}
		return "", address, nil
	case isURL:
		return "", nil, Usagef(cmd, "--store %s://…: want memory, dynamodb://TABLE or "+redisForm, scheme) // it may hold a password
	}
	return "", nil, Usagef(cmd, "--store: want memory, dynamodb://TABLE or "+redisForm) // it may hold a password too
}

var tableName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`)

// tableOf reads a flag's dynamodb://TABLE; ok is false for something else.
func tableOf(cmd *cobra.Command, flag, value string) (table string, ok bool, err error) {
	table, ok = strings.CutPrefix(value, session.DynamoScheme)
	if !ok {
		return "", false, nil
	}
	return table, true, CheckTable(cmd, flag, table)
}

// CheckTable checks a name by the rules of "Naming rules" in the DynamoDB
// Developer Guide.
func CheckTable(cmd *cobra.Command, flag, table string) error {
	if !tableName.MatchString(table) {
		return Usagef(cmd, "--%s: %q is no name of a table: 3 to 255 letters, digits, _ . -", flag, table)
	}
	return nil
}

// Table has the flags of commands that work on a rules table alone.
type Table struct {
	Locations
	JSON bool
}

// Add adds --rules and --json.
func (f *Table) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Rules, "rules", "", "the table of rules, dynamodb://`TABLE`")
	JSON(cmd, &f.JSON)
}

// Read reads --rules.
func (f *Table) Read(cmd *cobra.Command) (string, error) {
	return f.ReadTable(cmd, "this works on a table, dynamodb://TABLE")
}

// Open opens the table, which must answer.
func (f *Table) Open(cmd *cobra.Command) (*ruletable.Table, error) {
	name, err := f.Read(cmd)
	if err != nil {
		return nil, err
	}
	return session.OpenTable(cmd.Context(), name)
}

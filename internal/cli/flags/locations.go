package flags

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/redis"
)

const (
	// memory is the store that keeps the counters in this process.
	memory     = "memory"
	sharedForm = "dynamodb://TABLE or redis://HOST:PORT/DB"
	storeForm  = memory + ", " + sharedForm
)

// Locations are where rules and counters are, by the flags. Its Completers read
// the rules there.
type Locations struct {
	session.Locations
	store string // as given
}

// AddRules adds --rules.
func (f *Locations) AddRules(cmd *cobra.Command) {
	f.addRules(cmd, "where the rules are: a `FILE` or dynamodb://TABLE")
}

// AddTable adds --rules for a command that works on a rules table alone.
func (f *Locations) AddTable(cmd *cobra.Command) {
	f.addRules(cmd, "the table of rules, dynamodb://`TABLE`")
	f.RequireTable(cmd, "this works on a table, dynamodb://TABLE")
}

// RequireTable refuses rules in a file. purpose says what the table is for.
func (f *Locations) RequireTable(cmd *cobra.Command, purpose string) {
	Check(cmd, func() error {
		if f.RulesTable == "" {
			return fmt.Errorf("--rules %s: %s", f.RulesFile, purpose)
		}
		return nil
	})
}

func (f *Locations) addRules(cmd *cobra.Command, usage string) {
	cmd.Flags().Func("rules", usage, func(text string) error { return asUsage(f.setRules(text)) })
	Refuse(cmd, func() bool { return f.RulesFile+f.RulesTable == "" }, "--rules is missing: a file or dynamodb://TABLE")
}

func (f *Locations) setRules(text string) (err error) {
	f.RulesFile, f.RulesTable = "", ""
	table, isTable := strings.CutPrefix(text, session.DynamoScheme)
	scheme, _, isURL := strings.Cut(text, "://")
	switch {
	case isTable:
		f.RulesTable, err = ParseTable("rules", table)
	case isURL:
		err = fmt.Errorf("--rules %s://…: want a file or dynamodb://TABLE", scheme) // the rest may contain a password
	default:
		f.RulesFile = text
	}
	return err
}

// AddStore adds --store, by default the memory of this process.
func (f *Locations) AddStore(cmd *cobra.Command) {
	f.store = memory
	f.addStore(cmd, ` (default "memory")`)
	f.RequireStore(cmd)
}

// AddSharedStore adds --store for a command that looks at what other processes
// count.
func (f *Locations) AddSharedStore(cmd *cobra.Command) {
	f.addStore(cmd, "")
	Refuse(cmd, func() bool { return f.store == memory },
		"--store memory: those counters are inside the process that counts; name a "+sharedForm)
}

// RequireStore refuses a command line without --store.
func (f *Locations) RequireStore(cmd *cobra.Command) {
	Refuse(cmd, func() bool { return f.store == "" }, "--store is missing: "+sharedForm)
}

func (f *Locations) addStore(cmd *cobra.Command, standard string) {
	usage := "where the counters are, a `STORE`: " + storeForm + standard
	cmd.Flags().Func("store", usage, func(text string) error { return asUsage(f.setStore(text)) })
}

// setStore reads --store. Its errors omit any text that may contain a password.
func (f *Locations) setStore(text string) (err error) {
	f.store, f.CountersTable, f.Redis = text, "", nil
	table, isTable := strings.CutPrefix(text, session.DynamoScheme)
	scheme, _, isURL := strings.Cut(text, "://")
	switch {
	case text == "", text == memory:
	case isTable:
		f.CountersTable, err = ParseTable("store", table)
	case isURL && (scheme == "redis" || scheme == "rediss"):
		if f.Redis, err = redis.ParseAddress(text); err != nil {
			err = fmt.Errorf("--store: %w", err)
		}
	case isURL:
		err = fmt.Errorf("--store %s://…: want %s", scheme, storeForm)
	default:
		err = errors.New("--store: want " + storeForm)
	}
	return err
}

// Table adds a flag that is the name of a table, which may begin with
// dynamodb://.
func Table(cmd *cobra.Command, to *string, name, usage string) {
	Var(cmd, to, name, usage, func(text string) (string, error) {
		return ParseTable(name, strings.TrimPrefix(text, session.DynamoScheme))
	})
}

var tableName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`)

// ParseTable checks a name by the rules of "Naming rules" in the DynamoDB
// Developer Guide.
func ParseTable(flag, table string) (string, error) {
	if !tableName.MatchString(table) {
		return "", fmt.Errorf("--%s: %q is no name of a table: 3 to 255 letters, digits, _ . -", flag, table)
	}
	return table, nil
}

package cli

import (
	"os/user"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/redis"
	"github.com/slidegate/slidegate/internal/ruletable"
)

const (
	memoryStore = "memory"
	redisForm   = "redis://HOST:PORT/DB"
)

// locationFlags say where rules and counters are.
type locationFlags struct{ rules, store string }

func (f *locationFlags) add(cmd *cobra.Command, defaultStore string) {
	f.addRules(cmd)
	cmd.Flags().StringVar(&f.store, "store", defaultStore, "where the counters are, a `STORE`: memory, dynamodb://TABLE or "+redisForm)
}

func (f *locationFlags) addRules(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.rules, "rules", "", "where the rules are: a `FILE` or dynamodb://TABLE")
}

// locations reads both flags.
func (f *locationFlags) locations(cmd *cobra.Command) (where operator.Locations, err error) {
	if where, err = f.rulesLocation(cmd); err != nil {
		return where, err
	}
	where.CountersTable, where.Redis, err = f.storeLocation(cmd)
	return where, err
}

// sharedLocations is locations for commands that look at what other processes
// count.
func (f *locationFlags) sharedLocations(cmd *cobra.Command) (where operator.Locations, err error) {
	where, err = f.locations(cmd)
	if err == nil && where.InMemory() {
		err = usagef(cmd, "--store memory: those counters are inside the process that counts; name a dynamodb://TABLE or "+redisForm)
	}
	return where, err
}

// optionalLocations is sharedLocations for commands that need no store.
func (f *locationFlags) optionalLocations(cmd *cobra.Command) (operator.Locations, error) {
	if f.store != "" {
		return f.sharedLocations(cmd)
	}
	return f.rulesLocation(cmd)
}

// rulesLocation reads --rules.
func (f *locationFlags) rulesLocation(cmd *cobra.Command) (where operator.Locations, err error) {
	table, ok, err := tableOf(cmd, "rules", f.rules)
	scheme, _, isURL := strings.Cut(f.rules, "://")
	switch {
	case ok:
		where.RulesTable = table
		return where, err
	case f.rules == "":
		return where, usagef(cmd, "--rules is missing: a file or dynamodb://TABLE")
	case isURL:
		return where, usagef(cmd, "--rules %s://…: want a file or dynamodb://TABLE", scheme) // it may hold a password
	}
	where.RulesFile = f.rules
	return where, nil
}

// rulesTable reads a --rules that must be a table.
func (f *locationFlags) rulesTable(cmd *cobra.Command, purpose string) (string, error) {
	where, err := f.rulesLocation(cmd)
	if err == nil && where.RulesTable == "" {
		err = usagef(cmd, "--rules %s: %s", f.rules, purpose)
	}
	return where.RulesTable, err
}

func (f *locationFlags) storeLocation(cmd *cobra.Command) (table string, address *redis.Address, err error) {
	table, ok, err := tableOf(cmd, "store", f.store)
	scheme, _, isURL := strings.Cut(f.store, "://")
	switch {
	case ok || f.store == memoryStore:
		return table, nil, err
	case f.store == "":
		return "", nil, usagef(cmd, "--store is missing: dynamodb://TABLE or "+redisForm)
	case isURL && (scheme == "redis" || scheme == "rediss"):
		if address, err = redis.ParseAddress(f.store); err != nil {
			return "", nil, usagef(cmd, "--store: %w", err)
		}
		return "", address, nil
	case isURL:
		return "", nil, usagef(cmd, "--store %s://…: want memory, dynamodb://TABLE or "+redisForm, scheme) // it may hold a password
	}
	return "", nil, usagef(cmd, "--store: want memory, dynamodb://TABLE or "+redisForm) // it may hold a password too
}

var tableName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`)

// tableOf reads a flag's dynamodb://TABLE; ok is false for something else.
func tableOf(cmd *cobra.Command, flag, value string) (table string, ok bool, err error) {
	table, ok = strings.CutPrefix(value, operator.DynamoScheme)
	if !ok {
		return "", false, nil
	}
	return table, true, checkTable(cmd, flag, table)
}

// checkTable checks a name by the rules of "Naming rules" in the DynamoDB
// Developer Guide.
func checkTable(cmd *cobra.Command, flag, table string) error {
	if !tableName.MatchString(table) {
		return usagef(cmd, "--%s: %q is no name of a table: 3 to 255 letters, digits, _ . -", flag, table)
	}
	return nil
}

// tableFlags are those of commands that work on a rules table alone.
type tableFlags struct {
	locationFlags
	json bool
}

func (f *tableFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.rules, "rules", "", "the table of rules, dynamodb://`TABLE`")
	jsonFlag(cmd, &f.json)
}

// table reads --rules.
func (f *tableFlags) table(cmd *cobra.Command) (string, error) {
	return f.rulesTable(cmd, "this works on a table, dynamodb://TABLE")
}

// open returns the table once it has answered.
func (f *tableFlags) open(cmd *cobra.Command) (*operator.Table, error) {
	name, err := f.table(cmd)
	if err != nil {
		return nil, err
	}
	return operator.OpenTable(cmd.Context(), name)
}

// noteFlags say who changes something, and why.
type noteFlags struct{ who, why string }

func (f *noteFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.why, "why", "", "why: a `TEXT` for the history (required)")
	cmd.Flags().StringVar(&f.who, "who", "", "the `NAME` of who changes it (default: the user of this system)")
}

// note returns what the history is to say. A reason is required.
func (f *noteFlags) note(cmd *cobra.Command, now time.Time) (note ruletable.Note, err error) {
	if f.why == "" {
		return note, usagef(cmd, "--why is missing: give a reason for the history")
	}
	return f.optionalNote(cmd, now)
}

// optionalNote is note without a required reason.
func (f *noteFlags) optionalNote(cmd *cobra.Command, now time.Time) (note ruletable.Note, err error) {
	note = ruletable.Note{Who: f.who, Why: f.why, When: now}
	if f.who == "" {
		u, err := user.Current()
		if err != nil {
			return note, usagef(cmd, "--who is missing, and the system does not say who runs this: %w", err)
		}
		note.Who = u.Username
	}
	return note, nil
}

// limitFlag adds --limit.
func limitFlag(cmd *cobra.Command, limit *int, what string, standard int) {
	cmd.Flags().IntVar(limit, "limit", standard, "show at most `N` "+what+"; 0 for all")
}

func checkLimit(cmd *cobra.Command, limit int) error {
	if limit < 0 {
		return usagef(cmd, "--limit %d: want 0 or more", limit)
	}
	return nil
}

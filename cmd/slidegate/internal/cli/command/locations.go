package command

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/store/redis"
)

const (
	// memory is the store that keeps the counters in this process.
	memory     = "memory"
	tableForm  = session.DynamoScheme + "TABLE or stack://NAME"
	sharedForm = session.DynamoScheme + "TABLE, stack://NAME or redis://HOST:PORT/DB"
	storeForm  = memory + ", " + sharedForm
)

// The environment variables that stand for --rules and --store where these are
// not given.
const (
	rulesVariable = "SLIDEGATE_RULES"
	storeVariable = "SLIDEGATE_STORE"
)

// Locations are where rules and counters are, by the flags or the environment.
// Its Completers read the rules there.
type Locations struct {
	session.Locations
	store string // as given
	// The errors of the environment's locations, which count only without flags.
	rulesErr, storeErr error
	rulesFrom          string // the flag or the variable that names the rules
	// The stacks that have the tables, until their tables are known; nil for none.
	rulesStack, storeStack *stack
}

// AddRules adds --rules.
func (f *Locations) AddRules(cmd *cobra.Command) {
	f.addRules(cmd, "where the rules are: a `FILE`, "+tableForm, "a file, "+tableForm)
}

// AddTable adds --rules for a command that works on a rules table alone.
func (f *Locations) AddTable(cmd *cobra.Command) {
	f.AddTableFor(cmd, "this works on a table, "+tableForm)
}

// AddTableFor is AddTable with a reason why a file is refused.
func (f *Locations) AddTableFor(cmd *cobra.Command, purpose string) {
	f.addRules(cmd, "the table of rules, dynamodb://`TABLE` or stack://NAME", tableForm)
	Check(cmd, func() error {
		if f.RulesTable == "" {
			return fmt.Errorf("%s %s: %s", f.rulesFrom, f.RulesFile, purpose)
		}
		return nil
	})
}

func (f *Locations) addRules(cmd *cobra.Command, usage, form string) {
	f.rulesErr = f.setRules(rulesVariable, os.Getenv(rulesVariable))
	cmd.Flags().Func("rules", usage+" (default: $"+rulesVariable+")", func(text string) error {
		f.rulesErr = nil
		return asUsage(f.setRules("--rules", text))
	})
	Check(cmd, func() error { return f.rulesErr })
	Refuse(cmd, func() bool { return f.RulesFile+f.RulesTable == "" && f.rulesStack == nil }, "--rules is missing: "+form)
	f.findTables(cmd)
}

// setRules reads a location of rules. from is the flag or the variable that has
// it.
func (f *Locations) setRules(from, text string) (err error) {
	f.RulesFile, f.RulesTable, f.rulesFrom, f.rulesStack = "", "", from, nil
	table, isTable := strings.CutPrefix(text, session.DynamoScheme)
	scheme, _, isURL := strings.Cut(text, "://")
	switch {
	case isTable:
		f.RulesTable, err = parseTable(from, table)
	case scheme == stackScheme && isURL:
		f.rulesStack, err = parseStack(from, text)
	case isURL:
		err = fmt.Errorf("%s %s://…: want a file, %s", from, scheme, tableForm) // the rest may contain a password
	case text == "-":
		err = fmt.Errorf("%s -: want a file, %s; /dev/stdin is standard input", from, tableForm)
	default:
		f.RulesFile = text
	}
	return err
}

// AddStore adds --store, by default that of the environment or the memory of
// this process.
func (f *Locations) AddStore(cmd *cobra.Command) {
	f.store = memory
	f.readStore()
	f.addStore(cmd, storeForm, " (default: $"+storeVariable+", or memory)")
	f.RequireStore(cmd)
}

// AddReplayStore adds --store, by default the memory of this process. The
// environment does not count: a replay charges its store for good, and the
// environment may name the one of real requests.
func (f *Locations) AddReplayStore(cmd *cobra.Command) {
	f.store = memory
	f.addStore(cmd, storeForm, ` (default "memory", whatever $`+storeVariable+` says)`)
	f.RequireStore(cmd)
}

// AddSharedStore adds --store for a command that looks at what other processes
// count. The memory of another process cannot be read, so the environment may
// name it, for serve, and stands for no store here.
func (f *Locations) AddSharedStore(cmd *cobra.Command) {
	if f.readStore(); f.store == memory {
		f.store = ""
	}
	f.addStore(cmd, sharedForm, " (default: $"+storeVariable+")")
	Refuse(cmd, func() bool { return f.store == memory },
		"--store memory: those counters are inside the process that counts; name a "+sharedForm)
}

// RequireStore refuses a command line without --store.
func (f *Locations) RequireStore(cmd *cobra.Command) {
	Refuse(cmd, func() bool { return f.store == "" }, "--store is missing: "+sharedForm)
}

// readStore takes the store of the environment, if it names one.
func (f *Locations) readStore() {
	if text := os.Getenv(storeVariable); text != "" {
		f.storeErr = f.setStore(storeVariable, storeForm, text)
	}
}

func (f *Locations) addStore(cmd *cobra.Command, form, standard string) {
	usage := "where the counters are, a `STORE`: " + form + standard
	cmd.Flags().Func("store", usage, func(text string) error {
		f.storeErr = nil
		return asUsage(f.setStore("--store", form, text))
	})
	Check(cmd, func() error { return f.storeErr })
	f.findTables(cmd)
}

// setStore reads a location of counters. from is the flag or the variable that
// has it, and form what it may be. Its errors omit any text that may contain a
// password.
func (f *Locations) setStore(from, form, text string) (err error) {
	f.store, f.CountersTable, f.Redis, f.storeStack = text, "", nil, nil
	table, isTable := strings.CutPrefix(text, session.DynamoScheme)
	scheme, _, isURL := strings.Cut(text, "://")
	switch {
	case text == "", text == memory:
	case isTable:
		f.CountersTable, err = parseTable(from, table)
	case scheme == stackScheme && isURL:
		f.storeStack, err = parseStack(from, text)
	case isURL && (scheme == "redis" || scheme == "rediss"):
		if f.Redis, err = redis.ParseAddress(text, os.Getenv(redis.PasswordVariable)); err != nil {
			err = fmt.Errorf("%s: %w", from, err)
		}
	case isURL:
		err = fmt.Errorf("%s %s://…: want %s", from, scheme, form)
	default:
		err = fmt.Errorf("%s: want %s", from, form)
	}
	return err
}

// Table adds a flag that is the name of a table, which may begin with
// dynamodb://.
func Table(cmd *cobra.Command, to *string, name, usage string) {
	Var(cmd, to, name, usage, func(text string) (string, error) {
		return parseTable("--"+name, strings.TrimPrefix(text, session.DynamoScheme))
	})
}

var tableName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`)

// parseTable checks a name by the rules of "Naming rules" in the DynamoDB
// Developer Guide. from is what names the table, for messages.
func parseTable(from, table string) (string, error) {
	if !tableName.MatchString(table) {
		return "", fmt.Errorf("%s: %q is no name of a table: 3 to 255 letters, digits, _ . -", from, table)
	}
	return table, nil
}

// stackScheme begins the address of a CloudFormation stack, stack://NAME, or of
// one limiter of several in it, stack://NAME/ID.
const stackScheme = "stack"

// stack is a limiter of a CloudFormation stack.
type stack struct {
	name, id string
	from     string // the flag or the variable that names it
}

var stackAddress = regexp.MustCompile(`^stack://([a-zA-Z][a-zA-Z0-9-]{0,127})(?:/([a-zA-Z0-9]+))?$`)

// parseStack checks the address of a stack. from is the flag or the variable that
// has it.
func parseStack(from, text string) (*stack, error) {
	match := stackAddress.FindStringSubmatch(text)
	if match == nil {
		return nil, fmt.Errorf("%s %s: want stack://NAME, or stack://NAME/ID for one limiter of several: letters and digits, and in NAME also -", from, text)
	}
	return &stack{match[1], match[2], from}, nil
}

// ParseStack reads a stack, NAME, or one limiter of several in it, NAME/ID. from
// is the flag that has it.
func ParseStack(from, text string) (name, id string, err error) {
	s, err := parseStack(from, stackScheme+"://"+strings.TrimPrefix(text, stackScheme+"://"))
	if err != nil {
		return "", "", fmt.Errorf("%s %s: want NAME, or NAME/ID for one limiter of several: letters and digits, and in NAME also -", from, text)
	}
	return s.name, s.id, nil
}

// findTables adds a step before the command, which asks CloudFormation for the
// tables of stacks. It asks once for a stack that is both --rules and --store.
func (f *Locations) findTables(cmd *cobra.Command) {
	then(cmd, func(ctx context.Context) error {
		rules, store := f.rulesStack, f.storeStack
		f.rulesStack, f.storeStack = nil, nil
		var found aws.Limiter
		var err error
		if rules != nil {
			if found, err = rules.limiter(ctx); err != nil {
				return err
			}
			f.RulesTable = found.RulesTable
		}
		if store == nil {
			return nil
		}
		if rules == nil || store.name != rules.name || store.id != rules.id {
			found, err = store.limiter(ctx)
		}
		f.CountersTable = found.CountersTable
		return err
	})
}

func (s *stack) limiter(ctx context.Context) (aws.Limiter, error) {
	account, err := aws.Connect(ctx)
	if err != nil {
		return aws.Limiter{}, fmt.Errorf("%s: %w", s.from, err)
	}
	found, err := account.Limiter(ctx, s.name, s.id)
	if err != nil {
		return found, fmt.Errorf("%s: %w", s.from, err)
	}
	return found, nil
}

package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
)

// UsageError is a command line that makes no sense.
type UsageError struct{ error }

// Usagef returns a UsageError.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

func asUsage(err error) error {
	if err == nil {
		return nil
	}
	return UsageError{err}
}

// Var adds a flag whose text parse turns into *to. An empty text is as good as
// no flag.
func Var[T any](cmd *cobra.Command, to *T, name, usage string, parse func(text string) (T, error)) {
	cmd.Flags().Func(name, usage, func(text string) (err error) {
		if *to = *new(T); text != "" {
			*to, err = parse(text)
		}
		return asUsage(err)
	})
}

// Choice adds a flag that is one of several words, and completes it.
func Choice(cmd *cobra.Command, to *string, name, usage string, words ...string) {
	last := len(words) - 1
	Var(cmd, to, name, usage, func(text string) (string, error) {
		if !slices.Contains(words, text) {
			return "", fmt.Errorf("--%s %s: want %s or %s", name, text, strings.Join(words[:last], ", "), words[last])
		}
		return text, nil
	})
	Complete(cmd, name, OneOf(words...))
}

// Check adds a check that runs before the command does, after those that were
// added before. Its error is a UsageError.
func Check(cmd *cobra.Command, check func() error) {
	then(cmd, func(context.Context) error { return asUsage(check()) })
}

// then adds a step that runs before the command does, after the steps and checks
// that were added before.
func then(cmd *cobra.Command, step func(context.Context) error) {
	earlier := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if earlier != nil {
			if err := earlier(cmd, args); err != nil {
				return err
			}
		}
		return step(cmd.Context())
	}
}

// Refuse adds a check that refuses flags with a message.
func Refuse(cmd *cobra.Command, wrong func() bool, message string) {
	Check(cmd, func() error {
		if wrong() {
			return errors.New(message)
		}
		return nil
	})
}

// Positional checks the number of arguments. want names them as the usage line
// does; most is -1 for any number.
func Positional(least, most int, want string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return Usagef("want %s, got %s", want, text.Plural(len(args), "argument"))
		}
		return nil
	}
}

// RulesFile wants one rules file. Standard input is none: a name tells people
// what is published.
func RulesFile(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && args[0] == "-" {
		return Usagef("want one rules file, got -; /dev/stdin is standard input")
	}
	return Positional(1, 1, "one rules file")(cmd, args)
}

// NoArguments refuses arguments besides flags.
var NoArguments = Positional(0, 0, "no arguments besides flags")

// JSON adds --json.
func JSON(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print the result as JSON")
}

// Limit adds --limit.
func Limit(cmd *cobra.Command, limit *int, what string, standard int) {
	cmd.Flags().IntVar(limit, "limit", standard, "show at most `N` "+what+"; 0 for all")
	Check(cmd, func() error {
		if *limit < 0 {
			return fmt.Errorf("--limit %d: want 0 or more", *limit)
		}
		return nil
	})
}

// Timeout returns what Var parses a flag of this name by, a duration above 0.
func Timeout(name string) func(string) (time.Duration, error) {
	return func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return 0, fmt.Errorf("--%s %s: want a duration above 0, such as 30s or 5m", name, text)
		}
		return d, nil
	}
}

// Completer offers words for the one at the cursor; none if it fails.
type Completer = cobra.CompletionFunc

// Complete completes a flag. It fails only for a flag that does not exist.
func Complete(cmd *cobra.Command, flag string, by Completer) {
	_ = cmd.RegisterFlagCompletionFunc(flag, by)
}

// NoWords offers neither words nor files.
var NoWords = OneOf()

// InTurn offers words for each argument by its own Completer, and nothing after
// the last one.
func InTurn(each ...Completer) Completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(each) {
			return NoWords(cmd, args, typed)
		}
		return each[len(args)](cmd, args, typed)
	}
}

// OneOf offers fixed words.
func OneOf(words ...string) Completer {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// FilesOf offers files by their extensions.
func FilesOf(extensions ...string) Completer {
	return cobra.FixedCompletions(extensions, cobra.ShellCompDirectiveFilterFileExt)
}

// RuleNames offers the names of the rules in a file, with their keys. It asks no
// table: a Tab must not wait for the network.
func (f *Locations) RuleNames(_ *cobra.Command, _ []string, typed string) (names []string, _ cobra.ShellCompDirective) {
	if f.RulesFile != "" {
		if set, _, err := session.ReadRules(f.RulesFile); err == nil { // shells show no errors
			for _, r := range set.Rules {
				if strings.HasPrefix(r.Name, typed) {
					names = append(names, cobra.CompletionWithDesc(r.Name, r.Key))
				}
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

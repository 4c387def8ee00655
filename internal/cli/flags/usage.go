// Package flags has what commands share on their command lines: flags for
// locations, callers, notes and times, usage errors and completion.
package flags

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/text"
)

// UsageError is a command line that makes no sense.
type UsageError struct {
	error
	Cmd *cobra.Command
}

// Usagef returns a UsageError of a command.
func Usagef(cmd *cobra.Command, format string, args ...any) error {
	return UsageError{fmt.Errorf(format, args...), cmd}
}

// Positional checks the number of arguments. want names them as the usage line
// does; most is -1 for any number.
func Positional(least, most int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return Usagef(cmd, "want %s, got %s", want, text.Plural(len(args), "argument"))
		}
		return nil
	}
}

// NoArguments refuses arguments besides flags.
var NoArguments = Positional(0, 0, "no arguments besides flags")

// JSON adds --json.
func JSON(cmd *cobra.Command, on *bool) {
	cmd.Flags().BoolVar(on, "json", false, "print the result as JSON")
}

// Limit adds --limit.
func Limit(cmd *cobra.Command, limit *int, what string, standard int) {
	cmd.Flags().IntVar(limit, "limit", standard, "show at most `N` "+what+"; 0 for all")
}

// CheckLimit refuses a --limit below 0.
func CheckLimit(cmd *cobra.Command, limit int) error {
	if limit < 0 {
		return Usagef(cmd, "--limit %d: want 0 or more", limit)
	}
	return nil
}

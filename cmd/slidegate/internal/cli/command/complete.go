package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
)

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

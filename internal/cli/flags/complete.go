package flags

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
	"github.com/slidegate/slidegate/internal/text"
)

const (
	// completeTime bounds how long a Tab may wait for a table.
	completeTime = 2 * time.Second
	// completeWords is how many names and keys are offered.
	completeWords = 100
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

// prompt is a command line to complete.
type prompt struct {
	context.Context          // ends when the user loses patience
	args            []string // before the word at the cursor
	typed           string   // the word, up to the cursor
}

// completer offers the first words that begin with the typed text, each once.
func completer(words func(p prompt, yield func(string) bool)) Completer {
	return func(cmd *cobra.Command, args []string, typed string) (found []string, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), completeTime)
		defer cancel()
		words(prompt{ctx, args, typed}, func(word string) bool {
			if strings.HasPrefix(word, typed) && !slices.Contains(found, word) {
				found = append(found, word)
			}
			return len(found) < completeWords
		})
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// fromRules offers words from the rules.
func (f *Locations) fromRules(words func(*rules.Set) []string) Completer {
	return completer(func(p prompt, yield func(string) bool) {
		var set *rules.Set
		if f.RulesFile != "" {
			set, _, _ = session.ReadRules(f.RulesFile)
		} else if table := f.openQuietly(p); table != nil {
			set, _, _ = session.InForce(p, table)
		}
		if set != nil {
			slices.Values(words(set))(yield)
		}
	})
}

// fromTable offers words from the rules table.
func (f *Locations) fromTable(words func(p prompt, table *ruletable.Table, yield func(string) bool)) Completer {
	return completer(func(p prompt, yield func(string) bool) {
		if table := f.openQuietly(p); table != nil {
			words(p, table, yield)
		}
	})
}

// openQuietly returns the rules table; nil if the rules are in a file or the
// table does not answer.
func (f *Locations) openQuietly(p prompt) *ruletable.Table {
	if f.RulesTable == "" {
		return nil
	}
	table, err := session.OpenTable(p, f.RulesTable)
	if err != nil {
		return nil // shells show no errors of a completion
	}
	return table
}

// RuleNames offers the names of rules with their keys, and more words.
func (f *Locations) RuleNames(more ...string) Completer {
	return f.fromRules(func(set *rules.Set) (words []string) {
		for _, r := range set.Rules {
			words = append(words, cobra.CompletionWithDesc(r.Name, r.Key))
		}
		return append(words, more...)
	})
}

// LimitNames offers RULE and RULE.LIMIT.
func (f *Locations) LimitNames() Completer {
	return f.fromRules(func(set *rules.Set) (words []string) {
		for _, r := range set.Rules {
			for i := range r.Limits {
				words = append(words, cobra.CompletionWithDesc(engine.PolicyName(r.Name, r.Limits[i].Name), r.Key))
			}
		}
		return words
	})
}

// PlanNames offers the names of plans.
func (f *Locations) PlanNames() Completer { return f.fromRules((*rules.Set).Plans) }

// Versions offers the newest versions of the table, and why they were published.
func (f *Locations) Versions() Completer {
	return f.fromTable(func(p prompt, table *ruletable.Table, yield func(string) bool) {
		for v, err := range table.Versions(p) {
			if err != nil || !yield(cobra.CompletionWithDesc(fmt.Sprint(v.Number), text.Printable(v.Why))) {
				return
			}
		}
	})
}

// APIKeyNames offers the names of API keys that are not revoked, and their ids.
func (f *Locations) APIKeyNames() Completer {
	return f.fromTable(func(p prompt, table *ruletable.Table, yield func(string) bool) {
		for k, err := range table.APIKeys(p, p.typed) {
			switch {
			case errors.Is(err, ruletable.ErrUnreadableKey) || err == nil && !k.Revoked.IsZero():
			case err != nil || !yield(cobra.CompletionWithDesc(k.Name, k.ID)):
				return
			}
		}
	})
}

// OverrideKeys offers keys that begin with the typed text and have an override of
// the rule that the first argument names.
func (f *Locations) OverrideKeys() Completer {
	return f.fromTable(func(p prompt, table *ruletable.Table, yield func(string) bool) {
		rule, _, _ := strings.Cut(p.args[0], ".")
		yieldKeys(table.Overrides(p, rule, p.typed), yield)
	})
}

// CounterKeys offers keys that may have counters. Counters cannot be listed, so
// it offers keys with overrides, of the named rule or of all, where a rule's
// overrides are looked up by its own keys.
func (f *Locations) CounterKeys(rule func(args []string) string) Completer {
	return f.fromTable(func(p prompt, table *ruletable.Table, yield func(string) bool) {
		set, _, err := session.InForce(p, table)
		if err != nil {
			return
		}
		name := rule(p.args)
		for _, r := range set.Rules {
			if name != "" && r.Name != name || !r.TakesOverrides() || set.OverrideKeys(r.Name) != r.Key {
				continue
			}
			yieldUsed := func(key string) bool { return operator.Unused(set, r.Name, key) != "" || yield(key) }
			if !yieldKeys(table.Overrides(p, r.Name, p.typed), yieldUsed) {
				return
			}
		}
	})
}

// yieldKeys yields the keys of overrides. It returns false if there must be no
// more.
func yieldKeys(overrides iter.Seq2[*ruletable.Override, error], yield func(string) bool) bool {
	for o, err := range overrides {
		if errors.Is(err, ruletable.ErrUnreadable) {
			continue
		}
		if err != nil || !yield(o.Key) {
			return false
		}
	}
	return true
}

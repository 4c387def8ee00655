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
	// completeKeys is how many keys of overrides are offered.
	completeKeys = 100
)

// Completer offers words for what is at the cursor; none if it fails.
type Completer = cobra.CompletionFunc

// Complete completes a flag. It fails only for a flag that does not exist.
func Complete(cmd *cobra.Command, flag string, by Completer) {
	_ = cmd.RegisterFlagCompletionFunc(flag, by)
}

// NoWords offers neither words nor files.
func NoWords(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

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
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return extensions, cobra.ShellCompDirectiveFilterFileExt
	}
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

// inTime offers words that begin with what is typed, if they are found before
// the user loses patience.
func (f *Locations) inTime(words func(ctx context.Context, where session.Locations, args []string, typed string) []string) Completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		where, err := f.ReadRules(cmd)
		if err != nil {
			return NoWords(cmd, args, typed)
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), completeTime)
		defer cancel()
		others := func(word string) bool { return !strings.HasPrefix(word, typed) }
		return slices.DeleteFunc(words(ctx, where, args, typed), others), cobra.ShellCompDirectiveNoFileComp
	}
}

// fromRules offers words from the rules.
func (f *Locations) fromRules(words func(*rules.Set) []string) Completer {
	return f.inTime(func(ctx context.Context, where session.Locations, _ []string, _ string) []string {
		var set *rules.Set
		if where.RulesFile != "" {
			set, _, _ = session.ReadRules(where.RulesFile)
		} else if table, err := session.OpenTable(ctx, where.RulesTable); err == nil {
			set, _, _ = session.InForce(ctx, table)
		}
		if set == nil {
			return nil
		}
		return words(set)
	})
}

// fromTable offers words from a table, by the arguments before and what is
// typed.
func (f *Locations) fromTable(words func(ctx context.Context, table *ruletable.Table, args []string, typed string) []string) Completer {
	return f.inTime(func(ctx context.Context, where session.Locations, args []string, typed string) []string {
		if where.RulesTable == "" {
			return nil
		}
		table, err := session.OpenTable(ctx, where.RulesTable)
		if err != nil {
			return nil
		}
		return words(ctx, table, args, typed)
	})
}

// Versions offers the newest versions of the table, and why they were published.
func (f *Table) Versions() Completer {
	return f.fromTable(func(ctx context.Context, table *ruletable.Table, _ []string, _ string) (words []string) {
		for v, err := range table.Versions(ctx) {
			if err != nil || len(words) == completeKeys {
				return words
			}
			words = append(words, cobra.CompletionWithDesc(fmt.Sprint(v.Number), text.Printable(v.Why)))
		}
		return words
	})
}

// OverrideKeys offers keys that continue what is typed and have an override of
// the first argument's rule.
func (f *Locations) OverrideKeys() Completer {
	return f.fromTable(func(ctx context.Context, table *ruletable.Table, args []string, typed string) (words []string) {
		rule, _, _ := strings.Cut(args[0], ".")
		return appendKeys(nil, table.Overrides(ctx, rule, typed), func(string) bool { return true })
	})
}

// CounterKeys offers keys that may have counters. Counters cannot be listed, so
// it offers keys with overrides, of the named rule or of all, where a rule's
// overrides are looked up by its own keys.
func (f *Locations) CounterKeys(rule func(args []string) string) Completer {
	return f.fromTable(func(ctx context.Context, table *ruletable.Table, args []string, typed string) (words []string) {
		set, _, err := session.InForce(ctx, table)
		if err != nil {
			return nil
		}
		name := rule(args)
		for _, r := range set.Rules {
			if (name == "" || r.Name == name) && r.TakesOverrides() && set.OverrideKeys(r.Name) == r.Key {
				words = appendKeys(words, table.Overrides(ctx, r.Name, typed), func(key string) bool { return operator.Unused(set, r.Name, key) == "" })
			}
		}
		return words
	})
}

// appendKeys appends the first keys to offer, each once, up to completeKeys in
// all.
func appendKeys(words []string, overrides iter.Seq2[*ruletable.Override, error], offer func(key string) bool) []string {
	if len(words) >= completeKeys {
		return words // without reading the table
	}
	for o, err := range overrides {
		switch {
		case errors.Is(err, ruletable.ErrUnreadable):
			continue
		case err != nil:
			return words
		case !slices.Contains(words, o.Key) && offer(o.Key):
			words = append(words, o.Key)
		}
		if len(words) == completeKeys {
			break
		}
	}
	return words
}

// PlanNames offers the names of plans.
func (f *Locations) PlanNames() Completer {
	return f.fromRules(func(set *rules.Set) []string { return set.Plans() })
}

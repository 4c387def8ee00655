package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

const (
	// completeTime is how long a person who has pressed Tab may wait for a table.
	completeTime = 2 * time.Second
	// completeKeys is how many keys of overrides are offered.
	completeKeys = 100
)

// completer offers words for what stands at the cursor. One that cannot find any, for whatever reason, offers nothing.
type completer = cobra.CompletionFunc

// complete completes a flag. It can fail for a flag that is not there alone.
func complete(cmd *cobra.Command, flag string, by completer) {
	_ = cmd.RegisterFlagCompletionFunc(flag, by)
}

// nothing offers no words, and no files either.
func nothing(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// inTurn offers words for each argument by a completer of its own, and nothing beyond them.
func inTurn(each ...completer) completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(each) {
			return nothing(cmd, args, typed)
		}
		return each[len(args)](cmd, args, typed)
	}
}

// oneOf offers fixed words.
func oneOf(words ...string) completer {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// filesOf offers files by their extensions, or all files without any.
func filesOf(extensions ...string) completer {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		if len(extensions) == 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return extensions, cobra.ShellCompDirectiveFilterFileExt
	}
}

// rules offers the names of rules, with their keys beside them, where --rules says where rules are.
func (p *placeFlags) ruleNames(more ...string) completer {
	return p.fromRules(func(set *rules.Set) (words []string) {
		for _, r := range set.Rules {
			words = append(words, cobra.CompletionWithDesc(r.Name, r.Key))
		}
		return append(words, more...)
	})
}

// limitNames offers RULE and RULE.LIMIT.
func (p *placeFlags) limitNames() completer {
	return p.fromRules(func(set *rules.Set) (words []string) {
		for _, r := range set.Rules {
			for i := range r.Limits {
				words = append(words, cobra.CompletionWithDesc(policyName(r.Name, &r.Limits[i]), r.Key))
			}
		}
		return words
	})
}

func (p *placeFlags) fromRules(words func(*rules.Set) []string) completer {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), completeTime)
		defer cancel()
		set := p.glance(ctx, cmd)
		if set == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return beginning(typed, words(set)), cobra.ShellCompDirectiveNoFileComp
	}
}

// glance reads the rules; nil where they cannot be read.
func (p *placeFlags) glance(ctx context.Context, cmd *cobra.Command) *rules.Set {
	file, table, err := p.rulesPlace(cmd)
	if err != nil {
		return nil
	}
	if file != "" {
		set, _, _ := readRules(file)
		return set
	}
	client, err := dynamo.Connect(ctx, time.Now)
	if err != nil {
		return nil
	}
	set, _, _ := inForce(ctx, ruletable.New(client, table))
	return set
}

// versions offers the newest versions of the table, with why they were published beside them.
func (f *tableFlags) versions() completer {
	return f.fromTable(func(ctx context.Context, table *ruletable.Table, _ []string, _ string) (words []string) {
		for v, err := range table.Versions(ctx) {
			if err != nil || len(words) == completeKeys {
				return words
			}
			words = append(words, cobra.CompletionWithDesc(fmt.Sprint(v.Number), plainText(v.Why)))
		}
		return words
	})
}

// overrideKeys offers the first keys that go on from what is typed and have an override in the table, of the rule that is the first argument.
func (p *placeFlags) overrideKeys() completer {
	return p.fromTable(func(ctx context.Context, table *ruletable.Table, args []string, typed string) (words []string) {
		rule, _, _ := strings.Cut(args[0], ".")
		return appendKeys(nil, table.Overrides(ctx, rule, typed), func(string) bool { return true })
	})
}

// counterKeys offers keys that have counters. Nobody can list those, but the keys that have overrides, where a rule's are
// looked up by its own keys: of the named rule, or of all where there is no name.
func (p *placeFlags) counterKeys(rule func(args []string) string) completer {
	return p.fromTable(func(ctx context.Context, table *ruletable.Table, args []string, typed string) (words []string) {
		set, _, err := inForce(ctx, table)
		if err != nil {
			return nil
		}
		name := rule(args)
		for _, r := range set.Rules {
			if (name == "" || r.Name == name) && r.TakesOverrides() && set.OverrideKeys(r.Name) == r.Key {
				words = appendKeys(words, table.Overrides(ctx, r.Name, typed), func(key string) bool { return unused(set, r.Name, key) == "" })
			}
		}
		return words
	})
}

// appendKeys appends the first keys that will do, up to completeKeys in all, each of them once.
func appendKeys(words []string, overrides iter.Seq2[*ruletable.Override, error], do func(key string) bool) []string {
	if len(words) >= completeKeys {
		return words // without a look at the table
	}
	for o, err := range overrides {
		switch {
		case errors.Is(err, ruletable.ErrUnreadable):
			continue
		case err != nil:
			return words
		case !slices.Contains(words, o.Key) && do(o.Key):
			words = append(words, o.Key)
		}
		if len(words) == completeKeys {
			break
		}
	}
	return words
}

// planNames offers the names of plans.
func (p *placeFlags) planNames() completer {
	return p.fromRules(func(set *rules.Set) []string { return set.Plans() })
}

// fromTable offers words that are found in a table, by the arguments before and what is typed.
func (p *placeFlags) fromTable(words func(ctx context.Context, table *ruletable.Table, args []string, typed string) []string) completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), completeTime)
		defer cancel()
		_, table, err := p.rulesPlace(cmd)
		if err != nil || table == "" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		client, err := dynamo.Connect(ctx, time.Now)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return beginning(typed, words(ctx, ruletable.New(client, table), args, typed)), cobra.ShellCompDirectiveNoFileComp
	}
}

func beginning(typed string, words []string) (fitting []string) {
	for _, w := range words {
		if strings.HasPrefix(w, typed) {
			fitting = append(fitting, w)
		}
	}
	return fitting
}

package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// storedFlags are those of commands on what the table has already. It may have outlived its rule, or the form of its keys.
type storedFlags struct {
	tableFlags
	asListed bool
}

func (f *storedFlags) add(cmd *cobra.Command) {
	f.tableFlags.add(cmd)
	cmd.Flags().BoolVar(&f.asListed, "as-listed", false, "KEY is one of the table, just as overrides list prints it")
}

// target finds the key that somebody has typed, and says on standard error what is odd about where it is.
func (f *storedFlags) target(c *cli, cmd *cobra.Command, rule, text string) (*overrideTarget, error) {
	table, set, err := f.openRules(cmd)
	if err != nil {
		return nil, err
	}
	t := &overrideTarget{table: table, set: set, rule: rule}
	ctx, cancel := context.WithTimeout(cmd.Context(), lookTime)
	defer cancel()
	if f.asListed {
		err = t.takeListed(ctx, text)
	} else {
		err = t.find(ctx, text)
	}
	if err != nil {
		return nil, err
	}
	if t.unused != "" {
		c.say("warning: the %s is in the table under a key that no request looks up: %s", t.place(), t.unused)
	}
	if t.other != "" {
		c.say("warning: the table has one for key %s too, which no request looks up; --as-listed takes that", plainText(t.other))
	}
	return t, nil
}

func (t *overrideTarget) takeListed(ctx context.Context, key string) error {
	stored, err := t.has(ctx, key)
	t.take(key)
	if err == nil && !stored {
		err = fmt.Errorf("%s: %w", t.place(), ruletable.ErrNoOverride)
	}
	return err
}

// take takes a key that the table has.
func (t *overrideTarget) take(key string) { t.key, t.unused = key, unused(t.set, t.rule, key) }

// find takes the key by which requests look up what somebody has typed, or what is in the table as it is typed, if nothing is
// said of the other.
func (t *overrideTarget) find(ctx context.Context, text string) error {
	key, misfit := t.set.OverrideKey(t.rule, text)
	switch {
	case misfit == nil && key == text:
		t.key = key
		return nil
	case errors.Is(misfit, rules.ErrHashSecret) && unused(t.set, t.rule, text) != "":
		return misfit // requests look up a hash of it, and whether the table has that is not known
	}
	typed, err := t.has(ctx, text)
	if err != nil {
		return err
	}
	if misfit != nil {
		if !typed {
			return t.listed(ctx, misfit)
		}
		t.take(text)
		return nil
	}
	said, err := t.has(ctx, key)
	if err != nil {
		return err
	}
	switch t.key = key; {
	case !typed:
	case said || t.set.Override(t.rule, key) != nil:
		t.other = text
	default:
		t.take(text)
	}
	return nil
}

// has reports whether the table has an override of the key, be it one that cannot be read.
func (t *overrideTarget) has(ctx context.Context, key string) (bool, error) {
	if key == "" || len(key) > rules.MaxKey || !utf8.ValidString(key) {
		return false, nil // no command has put it there
	}
	stored, err := t.table.Override(ctx, t.rule, key)
	if errors.Is(err, ruletable.ErrUnreadable) {
		return true, nil
	}
	return stored != nil, err
}

// listed adds to why a text is no key of the rule where keys are to be seen, if the table has any of it.
func (t *overrideTarget) listed(ctx context.Context, misfit error) error {
	next, stop := iter.Pull2(t.table.Overrides(ctx, t.rule, ""))
	defer stop()
	if _, err, ok := next(); !ok || err != nil && !errors.Is(err, ruletable.ErrUnreadable) {
		return misfit
	}
	return faults{misfit, fmt.Errorf("the table has overrides of %s: write the key as `slidegate overrides list %s` prints it", t.rule, t.rule)}
}

// unused returns why no request looks up a key of the table; it is empty if requests do.
func unused(set *rules.Set, rule, key string) string {
	if err := set.CheckOverride(rule, key, &rules.Override{}); err != nil {
		return plainText(err.Error())
	}
	return ""
}

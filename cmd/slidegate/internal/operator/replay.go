package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/replay"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// replayOverrides bounds the keys whose overrides are kept in memory: about
// 200 MB if most have none.
const replayOverrides = 1_000_000

// RecordedOverrides returns the overrides set by command for recorded traffic,
// which needs all of them at one moment: each key is looked up once.
func RecordedOverrides(table *ruletable.Table, listener Listener) engine.OverrideSource {
	return ruletable.NewOverrideCache(table, replayOverrides, func(err error) { listener.Note("%v", err) })
}

// LoadSecrets prepares rules for recorded traffic: without limits in flight, and
// with their secrets from the environment. The secret of
// hashed keys must be there if keys are shared or written as hashes: without it
// no counter or override would be found. The secret that a proxy sends may be
// missing, because most logs already have the clients' addresses.
func LoadSecrets(set *rules.Set, shared bool, listener Listener) error {
	if err := set.LoadProxySecret(os.LookupEnv); err != nil {
		listener.Warn("%v; until then clients have the addresses that the log says", err)
	}
	if names := set.WithoutPlaces(); len(names) > 0 {
		listener.Note("a log does not say how many requests were in flight: that limit is left out of %s", strings.Join(names, ", "))
	}
	err := set.LoadHashSecret(os.LookupEnv)
	if err != nil && !shared && !set.WritesHashes() {
		listener.Warn("%v; until then keys have hashes of this run alone", err)
		return nil
	}
	return err
}

// WarnAll passes on several warnings.
func WarnAll(listener Listener, warnings []string) {
	for _, w := range warnings {
		listener.Warn("%s", w)
	}
}

// WhatLacks says which enforced rules decided more than 1% of their requests
// without a key or a cost: such a log does not show what they would deny.
func WhatLacks(r *replay.Report) (lacking []error) {
	for _, rule := range r.Rules {
		all := rule.Allowed + rule.Denied
		for _, l := range rule.Lacking {
			if rule.Mode == rules.Enforce && (l.Use == "key" || l.Use == "cost") && l.Requests*100 > all {
				lacking = append(lacking, fmt.Errorf("rule %s: %s of %s lack %s of its %s",
					rule.Rule, text.Thousands(l.Requests), text.Plural(all, "request"), l.Field, l.Use))
			}
		}
	}
	return lacking
}

// Recorded returns traffic whose warnings and progress go to listener.
func Recorded(t logs.Traffic, progress Progress, listener Listener) *logs.Traffic {
	t.Progress, t.Warn = progress.Log, func(text string) { listener.Warn("%s", text) }
	return &t
}

// NoteLog says what the requests of a log lack, and which lines have none.
func NoteLog(x *logs.Extent, listener Listener) {
	if x.NoMethod > 0 {
		listener.Warn("%s of %s have no method in the log: only rules without methods cover them",
			text.Thousands(x.NoMethod), text.Plural(x.Requests, "request"))
	}
	if x.NoAddress > 0 {
		listener.Warn("in %s of %s a proxy's entry for its client is no address, so the address of the proxy counts; first: %s",
			text.Thousands(x.NoAddress), text.Plural(x.Requests, "request"), text.Printable(x.FirstEntry))
	}
	if client, ok := x.Client(); ok {
		listener.Warn("all %s are from one address, and a later field of the log has another one, such as %s: if that is the client's, "+
			"write client_ip: {trusted_hops: 1} in the rules, or --trusted-hops 1 for suggest, and have the field read by --log-format, "+
			"as docs/logs.md shows", text.Plural(x.Requests, "request"), client)
	}
	if x.FirstSkipped != nil {
		listener.Note("%s could not be read; first: %v", text.Plural(x.Skipped, "line"), x.FirstSkipped)
	}
}

// ReplayError says why a replay is no success, for example because on_error made
// some of its decisions in place of the rules.
func ReplayError(requests, degraded int64, err, store error) error {
	switch {
	case errors.Is(err, logs.ErrUnreadable):
		return fmt.Errorf("%w: give another --format, or NGINX's log_format by --log-format", err)
	case err != nil && store != nil:
		return fmt.Errorf("%w; the store failed first with: %s", err, OneLine(store))
	case err != nil:
		return err
	case degraded > 0:
		return fmt.Errorf("%d of %d requests were decided by on_error, because the store failed; first: %s", degraded, requests,
			OneLine(store))
	case store != nil:
		return fmt.Errorf("the store failed; first: %s", OneLine(store))
	}
	return nil
}

// Compare sends recorded traffic through two sets of rules, with counters in
// memory and the overrides of a table; nil for none. Windows follow the log's
// clock. Overrides follow today's, because a publish changes what comes after
// it: an override or a grant in force now applies to the whole log.
func Compare(ctx context.Context, traffic logs.Traffic, current, next *rules.Set, table *ruletable.Table, listener Listener) (*replay.Comparison, error) {
	if err := loadBothSecrets(current, next, table != nil, listener); err != nil {
		return nil, fmt.Errorf("--against: %w", err)
	}
	var failures replay.Failures
	options := engine.Options{Local: memory.New(0), Observer: &failures, Today: time.Now()}
	if table != nil {
		options.Overrides = RecordedOverrides(table, listener) // shared: each key is looked up once
	}
	under := func(set *rules.Set) *engine.Engine {
		o := options
		o.Rules, o.Store = engine.Fixed{Set: set}, memory.NewSequential(session.RecordedKeys/2)
		return engine.New(o)
	}
	progress := listener.Progress()
	result, err := replay.Compare(ctx, Recorded(traffic, progress, listener), under(current), under(next), next)
	progress.Clear()
	NoteLog(&result.Extent, listener)
	if errors.Is(err, context.Canceled) {
		return nil, errors.New("interrupted")
	}
	if first := failures.First(); first != nil {
		return nil, fmt.Errorf("--against: the requests cannot be compared: %s", OneLine(first))
	}
	for _, lacking := range WhatLacks(result.Next) {
		listener.Warn("--against: %v", lacking)
	}
	result.Rules, result.Keys = append([]replay.Change{}, result.Rules...), append([]replay.Change{}, result.Keys...)
	return result, ReplayError(result.Requests, 0, err, nil)
}

// loadBothSecrets loads the secrets of both sets from the environment. They must
// be there if a table has keys of these sets.
func loadBothSecrets(current, next *rules.Set, shared bool, listener Listener) error {
	for _, side := range []struct {
		name string
		set  *rules.Set
	}{{"the rules in force", current}, {"the new rules", next}} {
		switch err := LoadSecrets(side.set, shared, listener); {
		case err != nil && next.Collides(current):
			return fmt.Errorf("%s: %w; the two need two secrets: keep the old one in its variable, and name another variable in the new rules' "+
				"hash_secret.env, or leave out --against", side.name, err)
		case err != nil:
			return fmt.Errorf("%s: %w", side.name, err)
		}
	}
	return nil
}

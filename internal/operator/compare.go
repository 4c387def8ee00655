package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/memory"
	"github.com/slidegate/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/replay"
	"github.com/slidegate/slidegate/internal/rules"
)

// compare sends recorded traffic through two sets of rules, with counters in
// memory and the overrides of a table; nil for none. Windows follow the log's
// clock. Overrides follow today's, because a publish changes what comes after
// it: an override or a grant in force now applies to the whole log.
func compare(ctx context.Context, logs []replay.Log, current, next *rules.Set, table *session.Table, listener Listener) (*replay.Comparison, error) {
	if err := loadBothSecrets(current, next, table != nil, listener); err != nil {
		return nil, fmt.Errorf("--against: %w", err)
	}
	var failures replay.Failures
	options := engine.Options{Local: memory.New(0), Recorder: &failures, Today: time.Now()}
	if table != nil {
		options.Overrides = recordedOverrides(table.Table, listener) // shared: each key is looked up once
	}
	under := func(set *rules.Set) *engine.Engine {
		o := options
		o.Rules, o.Store = engine.Fixed{Set: set}, memory.New(replayKeys/2)
		return engine.New(o)
	}
	progress := listener.Progress()
	defer progress.Clear()
	result, err := replay.Compare(ctx, logs, under(current), under(next), showing(progress), warning(listener))
	progress.Clear()
	noteSkipped(&result.Extent, listener)
	if errors.Is(err, context.Canceled) {
		return nil, errors.New("interrupted")
	}
	if first := failures.First(); first != nil {
		return nil, fmt.Errorf("--against: the requests cannot be compared: %w", inOneLine(first))
	}
	result.Rules, result.Keys = append([]replay.RuleChange{}, result.Rules...), append([]replay.KeyChange{}, result.Keys...)
	return result, replayError(result.Requests, 0, err, nil)
}

// loadBothSecrets loads the secrets of both sets from the environment. It must
// have them if keys are those of a table.
func loadBothSecrets(current, next *rules.Set, shared bool, listener Listener) error {
	for _, side := range []struct {
		name string
		set  *rules.Set
	}{{"the rules in force", current}, {"the new rules", next}} {
		switch err := loadSecrets(side.set, shared, listener); {
		case err != nil && next.Collides(current):
			return fmt.Errorf("%s: %w; the two need two secrets: keep the old one in its variable, and name another variable in the new rules' "+
				"hash_secret.env, or leave out --against", side.name, err)
		case err != nil:
			return fmt.Errorf("%s: %w", side.name, err)
		}
	}
	return nil
}

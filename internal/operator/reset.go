package operator

import (
	"context"
	"fmt"
	"strings"

	"github.com/slidegate/slidegate/internal/ruletable"
)

// ResetReport describes a counter that was reset.
type ResetReport struct {
	Rule    string `json:"rule"`
	Key     string `json:"key"`
	Counter string `json:"counter"`
	Reset   bool   `json:"reset"`
}

// Reset deletes the counter of a key of a rule. If the rules are in a table,
// their history records it with the note.
func Reset(ctx context.Context, o *KeyOptions, note ruletable.Note, listener Listener) (*ResetReport, error) {
	s, err := openKeys(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	report, err := s.reset(ctx, o, listener)
	if err != nil {
		return nil, err
	}
	return report, s.recordReset(ctx, report, note)
}

func (s *keySession) reset(ctx context.Context, o *KeyOptions, listener Listener) (*ResetReport, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	rule, err := ruleNamed(s.Rules, o.Rule)
	if err != nil {
		return nil, err
	}
	keys, err := s.Rules.KeysFor(rule, o.Key, s.req)
	if err != nil {
		return nil, err
	}
	c, err := s.counter(ctx, rule, keys)
	if err != nil {
		return nil, err
	}
	if err := c.checkOverrideKey(listener); err != nil {
		return nil, err
	}
	store, _ := s.Shared()
	if err := store.Reset(ctx, c.Charge.Key); err != nil {
		return nil, err
	}
	return &ResetReport{Rule: rule.Name, Key: keys.Counter, Counter: c.Charge.Key, Reset: true}, nil
}

// recordReset writes the reset into the history. The counter comes first: a
// missing line is reported here, but a line too many would mislead its readers.
func (s *keySession) recordReset(ctx context.Context, r *ResetReport, note ruletable.Note) error {
	if s.lookup.table == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	if err := s.lookup.table.RecordReset(ctx, r.Rule, r.Key, r.Counter, note); err != nil {
		return fmt.Errorf("the counter %s is reset, but the history does not record it: %w", r.Counter, err)
	}
	return nil
}

// checkOverrideKey refuses a key whose override is not known, as the override
// may have a counter of its own. It only warns if no flag could name the key.
func (c *counter) checkOverrideKey(listener Listener) error {
	missing := c.keys.Override.Missing
	if len(missing) == 0 {
		return nil
	}
	what := fmt.Sprintf("rule %s: the key of its override holds %s, and an override may have a counter of its own",
		c.Rule.Name, strings.Join(missing, ", "))
	if flags := FlagsFor(missing); flags != "" {
		return fmt.Errorf("%s: give %s", what, flags)
	}
	listener.Warn("%s, which stays", what)
	return nil
}

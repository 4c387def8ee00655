package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slidegate/slidegate/internal/ruletable"
)

// KeyReport shows the override of one key.
type KeyReport struct {
	Rule     string          `json:"rule"`
	Key      string          `json:"key"`
	Override *OverrideReport `json:"override"`
	Document string          `json:"document,omitempty"`
	Unused   string          `json:"unused,omitempty"` // why no request looks the key up
}

// KeyChangeReport shows a change of the override of one key.
type KeyChangeReport struct {
	Rule   string          `json:"rule"`
	Key    string          `json:"key"`
	Before *OverrideReport `json:"before"`
	After  *OverrideReport `json:"after"`

	BeforeDocument string `json:"-"` // as stored; empty for none
}

// Get shows the override of the key. It fails if there is none.
func (t *OverrideTarget) Get(ctx context.Context) (*KeyReport, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	s, err := t.snapshot(ctx, time.Now())
	if err != nil {
		return nil, err
	}
	if s.Override == nil {
		return nil, fmt.Errorf("%s: %w", t.name(), ruletable.ErrNoOverride)
	}
	return &KeyReport{t.Rule, t.Key, s.Override, s.Document, t.unused}, nil
}

// Set sets the override of the key to a document, which it checks against the
// rules in force. Grants stay.
func (t *OverrideTarget) Set(ctx context.Context, document string, note ruletable.Note) (*KeyChangeReport, error) {
	o, err := parseOverride("", document)
	if err != nil {
		return nil, err
	}
	if err := withPrefix("", t.set.CheckOverride(t.Rule, t.Key, o)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	before, err := t.snapshot(ctx, note.When)
	if err != nil {
		return nil, err
	}
	next := ruletable.Override{Rule: t.Rule, Key: t.Key, Document: document, Note: note, Revision: before.revision}
	if err := t.table.SetOverride(ctx, next); err != nil {
		return nil, err
	}
	return t.changed(ctx, before, note.When)
}

// Delete deletes the override of the key and its grants. One that cannot be read
// can be deleted too.
func (t *OverrideTarget) Delete(ctx context.Context, note ruletable.Note) (*KeyChangeReport, error) {
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	before, err := t.snapshot(ctx, note.When)
	if err != nil && !errors.Is(err, ruletable.ErrUnreadable) {
		return nil, err
	}
	if err := t.table.DeleteOverride(ctx, t.Rule, t.Key, note); err != nil {
		return nil, err
	}
	return t.changed(ctx, before, note.When)
}

// changed reads the override again after a change.
func (t *OverrideTarget) changed(ctx context.Context, before KeySnapshot, now time.Time) (*KeyChangeReport, error) {
	after, err := t.snapshot(ctx, now)
	return &KeyChangeReport{t.Rule, t.Key, before.Override, after.Override, before.Document}, err
}

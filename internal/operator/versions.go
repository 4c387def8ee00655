package operator

import (
	"context"
	"iter"

	"github.com/slidegate/slidegate/internal/ruletable"
)

// DocumentReport is a published version with its rules.
type DocumentReport struct {
	ruletable.Version
	Document string `json:"document"`
}

// First returns the first items of a sequence; a limit of 0 is none.
func First[T any](items iter.Seq2[T, error], limit int) ([]T, error) {
	first := []T{}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		if first = append(first, item); len(first) == limit {
			break
		}
	}
	return first, nil
}

// Document returns a published version; 0 is the one in force.
func Document(ctx context.Context, t *ruletable.Table, version int64) (*DocumentReport, error) {
	current, err := t.Current(ctx)
	if err != nil {
		return nil, err
	}
	if version == 0 {
		version = current
	}
	v, err := t.Get(ctx, version)
	if err != nil {
		return nil, err
	}
	v.InForce = v.Number == current
	return &DocumentReport{*v, string(v.Text)}, nil
}

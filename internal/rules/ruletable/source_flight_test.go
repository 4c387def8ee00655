package ruletable_test

import (
	"errors"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/dynamo"
)

func newSource(api ruletable.API, table string, fallback *rules.Set) (*ruletable.Source, *reported) {
	var r reported
	return ruletable.NewSource(ruletable.New(api, table), ruletable.SourceOptions{Report: r.add, Fallback: fallback}), &r
}

// TestStartOnASilentTable: without a fallback, each request fails after three
// seconds, well before a Lambda is killed.
func TestStartOnASilentTable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		source, _ := newSource(silent{}, "rules", nil)
		for range 3 {
			start := time.Now()
			_, err := source.Rules(t.Context(), epoch)
			if took := time.Since(start); !errors.Is(err, dynamo.ErrTimeout) || took != 3*time.Second {
				t.Errorf("error %v after %v, want ErrTimeout after 3 s", err, took)
			}
		}
	})
}

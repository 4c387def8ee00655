package dynamo

import (
	"crypto/rand"
	"encoding/base64"

	"github.com/maypok86/otter/v2"

	"github.com/slidegate/slidegate/internal/limit"
)

// DefaultMaxViews bounds the views that a store keeps unless told otherwise. A view of a limit with 60 slots takes about
// 1.2 KB. Losing one costs a second write at most.
const DefaultMaxViews = 10_000

// viewCache keeps the latest view of each counter that this process has met, within a bound.
type viewCache struct{ views *otter.Cache[string, *view] }

func newViewCache(size int) *viewCache {
	if size <= 0 {
		size = DefaultMaxViews
	}
	return &viewCache{otter.Must(&otter.Options[string, *view]{MaximumSize: size})}
}

// get returns the view of the charge's counter, nil if there is none.
func (vc *viewCache) get(c *limit.Charge) *view {
	seen, ok := vc.views.GetIfPresent(c.Key)
	if !ok || len(seen.states) != len(c.Limits) {
		return nil
	}
	return seen
}

// put keeps a view unless the cache holds a later state of the same life: answers may overtake each other.
func (vc *viewCache) put(key string, seen *view) {
	vc.views.Compute(key, func(old *view, found bool) (*view, otter.ComputeOp) {
		if found && old.supersedes(seen) {
			return old, otter.CancelOp
		}
		return seen, otter.WriteOp
	})
}

func (vc *viewCache) drop(key string) { vc.views.Invalidate(key) }

// supersedes reports whether v is a later state than other: totals only grow within a life.
func (v *view) supersedes(other *view) bool {
	if v.life != other.life || len(v.totals) != len(other.totals) {
		return false
	}
	for i, total := range v.totals {
		if total > other.totals[i] {
			return true
		}
	}
	return false
}

// randomLife returns 96 random bits as 16 characters.
func randomLife() string {
	var mark [12]byte
	_, _ = rand.Read(mark[:]) // never fails: it ends the program instead
	return base64.RawURLEncoding.EncodeToString(mark[:])
}

package dynamo

import (
	"crypto/rand"
	"encoding/base64"

	"github.com/slidegate/slidegate/internal/kit/cache"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo/protocol"
)

// maxSnapshots bounds a store's snapshots. A snapshot of a limit with 60 slots
// takes about 1.2 KB. Losing one costs a second write at most.
const maxSnapshots = 10_000

// snapshotCache keeps the latest snapshot of each counter that this process has
// used, within a bound. It is safe for concurrent use.
type snapshotCache struct {
	cache cache.Cache[string, *protocol.Snapshot]
}

func newSnapshotCache() *snapshotCache {
	return &snapshotCache{cache.New[string, *protocol.Snapshot](maxSnapshots)}
}

// get returns the snapshot of the charge's counter, nil if there is none. A
// snapshot of another number of limits is of no use to the charge.
func (sc *snapshotCache) get(c *limit.Charge) *protocol.Snapshot {
	snapshot, ok := sc.cache.Get(c.Key)
	if !ok || snapshot.Limits() != len(c.Limits) {
		return nil
	}
	return snapshot
}

// put keeps a snapshot unless the cache has a later one of the same
// generation: answers may overtake each other.
func (sc *snapshotCache) put(key string, snapshot *protocol.Snapshot) {
	sc.cache.Update(key, func(old *protocol.Snapshot, found bool) (*protocol.Snapshot, bool) {
		return snapshot, !found || !old.NewerThan(snapshot)
	})
}

// randomGeneration returns 96 random bits as 16 characters.
func randomGeneration() string {
	var mark [12]byte
	_, _ = rand.Read(mark[:]) // never fails: it ends the program instead
	return base64.RawURLEncoding.EncodeToString(mark[:])
}

package dynamo

import (
	"crypto/rand"
	"encoding/base64"

	"github.com/slidegate/slidegate/internal/kit/cache"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo/protocol"
)

// DefaultMaxSnapshots is the default bound of a store's snapshots. A snapshot
// of a limit with 60 slots takes about 1.2 KB. Losing one costs a second write
// at most.
const DefaultMaxSnapshots = 10_000

// snapshotCache keeps the latest snapshot of each counter that this process has
// used, within a bound. It is safe for concurrent use.
type snapshotCache struct {
	cache cache.Cache[string, *protocol.Snapshot]
}

// newSnapshotCache returns an empty cache of at most size snapshots; of
// DefaultMaxSnapshots if size is not positive.
func newSnapshotCache(size int) *snapshotCache {
	if size <= 0 {
		size = DefaultMaxSnapshots
	}
	return &snapshotCache{cache.New[string, *protocol.Snapshot](size)}
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

// drop forgets a counter that is gone, so that the next charge creates it.
func (sc *snapshotCache) drop(key string) { sc.cache.Remove(key) }

// randomGeneration returns 96 random bits as 16 characters.
func randomGeneration() string {
	var mark [12]byte
	_, _ = rand.Read(mark[:]) // never fails: it ends the program instead
	return base64.RawURLEncoding.EncodeToString(mark[:])
}

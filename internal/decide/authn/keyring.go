package authn

import (
	"context"
	"log/slog"
	"time"

	"github.com/slidegate/slidegate/internal/kit/cache"
)

const (
	// refreshEvery is how old keys may be before a request fetches them again.
	// An issuer's removal of a key takes effect by then.
	refreshEvery = 10 * time.Minute
	// A made-up key id looks like one of a new key. unknownBurst and
	// unknownPerSecond bound the fetches for such ids, from each process and
	// issuer. Each fetch brings all keys, so a good token by a new key waits for
	// the next one: ten seconds at most during a flood.
	unknownBurst     = 3
	unknownPerSecond = 0.1
	// maxWait bounds how long a request waits for a key that is not known yet, in
	// real time.
	maxWait = time.Second
	// fetchTime bounds a fetch, in real time.
	fetchTime = 2 * time.Second
)

// noKeysError is an issuer none of whose keys could be fetched yet.
type noKeysError string

func (e noKeysError) Error() string { return "there are no keys yet of the issuer " + string(e) }

// location says where an issuer publishes its keys.
type location struct{ issuer, jwks string }

func (l location) String() string { return "keys of the issuer " + l.issuer }

// issuedKeys caches the keys of issuers. They stay in force if newer ones cannot
// be fetched.
type issuedKeys = cache.Reloaded[location, []key]

func newIssuedKeys(fetch fetcher, log *slog.Logger) *issuedKeys {
	return cache.NewReloaded(cache.Options[location, []key]{
		Load: func(ctx context.Context, _ time.Time, l location, last []key) ([]key, error) {
			keys, err := fetch.keys(ctx, l.issuer, l.jwks)
			if err != nil {
				log.Error("keys of an issuer cannot be fetched", "issuer", l.issuer, "keys_kept", len(last), "error", err)
			}
			return keys, err
		},
		FirstTimeout: fetchTime, Timeout: fetchTime, FirstWait: maxWait,
		Fresh:  refreshEvery,
		Answer: func(error) bool { return true }, // no fetch for ten seconds
	})
}

// find returns the issuer's keys with an id. A token without one can only be of
// an issuer with a single key.
func (i *issuer) find(ctx context.Context, now time.Time, id string) ([]key, error) {
	keys, err := i.keys.Get(ctx, now, i.location)
	if err != nil {
		return nil, noKeysError(i.Issuer)
	}
	found := withID(keys, id)
	if len(found) == 0 && id != "" {
		keys, _ = i.keys.Renew(ctx, now, i.location, func(newest []key) bool {
			return len(withID(newest, id)) > 0 || !i.unknown.Take(now)
		})
		found = withID(keys, id)
	}
	if len(found) == 0 {
		return nil, errKeyID
	}
	return found, nil
}

func withID(keys []key, id string) (found []key) {
	for _, each := range keys {
		if each.id == id && id != "" || id == "" && len(keys) == 1 {
			found = append(found, each)
		}
	}
	return found
}

package authn

import (
	"context"
	"log/slog"
	"time"

	"github.com/slidegate/slidegate/internal/swr"
)

const (
	// refreshEvery is how old keys may be before a request fetches them again.
	// An issuer's removal of a key takes effect by then.
	refreshEvery = 10 * time.Minute
	// gap is the time between two fetches at least, so that a flood of made-up
	// key ids costs the issuer one fetch a minute from each process. While there
	// are no keys, it is swr.Every.
	gap = time.Minute
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
type issuedKeys struct {
	cache *swr.Cache[location, []key]
}

func newIssuedKeys(fetch fetcher, log *slog.Logger) *issuedKeys {
	return &issuedKeys{swr.New(swr.Options[location, []key]{
		Load: func(ctx context.Context, _ time.Time, l location, last []key) ([]key, error) {
			keys, err := fetch.keys(ctx, l.issuer, l.jwks)
			if err != nil {
				log.Error("keys of an issuer cannot be fetched", "issuer", l.issuer, "keys_kept", len(last), "error", err)
			}
			return keys, err
		},
		FirstTimeout: fetchTime, Timeout: fetchTime, FirstWait: maxWait,
		Fresh: refreshEvery, Retry: gap,
		Answer: func(error) bool { return true }, // no fetch for ten seconds
	})}
}

// find returns the keys with an id. A token without one can only be of an
// issuer with a single key.
func (k *issuedKeys) find(ctx context.Context, now time.Time, l location, id string) ([]key, error) {
	keys, err := k.cache.Get(ctx, now, l)
	if err != nil {
		return nil, noKeysError(l.issuer)
	}
	found := withID(keys, id)
	if len(found) == 0 && id != "" {
		keys, _ = k.cache.Renew(ctx, now, l)
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

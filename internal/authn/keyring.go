package authn

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// refreshEvery is how old keys may be before a request fetches them again.
	// So long at most does a key count that its issuer has removed.
	refreshEvery = 10 * time.Minute
	// gap is the time between two fetches at least, so that a flood of made-up
	// key ids costs the issuer one fetch a minute from each process.
	gap = time.Minute
	// firstGap is that time while there are no keys.
	firstGap = 10 * time.Second
	// patience bounds how long a request waits for a key that is not known yet,
	// and brief how long one waits that can go on without: a Lambda is frozen
	// between requests, and a fetch with it. Both are in real time.
	patience = time.Second
	brief    = 100 * time.Millisecond
	// fetchTime bounds a fetch, in real time.
	fetchTime = 2 * time.Second
)

// noKeysError is an issuer none of whose keys could be fetched yet.
type noKeysError string

func (e noKeysError) Error() string { return "there are no keys yet of the issuer " + string(e) }

// keyring keeps the keys of one issuer. Requests start the fetches. Keys stay
// in force if newer ones cannot be fetched.
type keyring struct {
	issuer, jwks string
	fetch        fetcher
	log          *slog.Logger

	mu      sync.Mutex
	keys    []key         // nil before the first
	fetched time.Time     // when the fetch of the keys began
	tried   time.Time     // when the last fetch began
	failed  bool          // the last fetch
	flight  chan struct{} // closed when the fetch under way ends; nil for none
}

func newKeyring(issuer, jwks string, fetch fetcher, log *slog.Logger) *keyring {
	return &keyring{issuer: issuer, jwks: jwks, fetch: fetch, log: log}
}

// find returns the keys with an id. A token without one can only be of an
// issuer with a single key.
func (k *keyring) find(ctx context.Context, now time.Time, id string) ([]key, error) {
	keys, flight, wait := k.look(now, id)
	if flight != nil {
		await(ctx, flight, wait)
		keys, _, _ = k.look(now, id)
	}
	switch {
	case len(keys) > 0:
		return keys, nil
	case !k.known():
		return nil, noKeysError(k.issuer)
	}
	return nil, errKeyID
}

// look returns the keys with an id, and a fetch to wait for, and for how long;
// nil for none.
func (k *keyring) look(now time.Time, id string) (found []key, flight chan struct{}, wait time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, each := range k.keys {
		if each.id == id && id != "" || id == "" && len(k.keys) == 1 {
			found = append(found, each)
		}
	}
	// The clock may have been set back, so only the distance counts.
	tried, mine := now.Sub(k.tried).Abs(), false
	switch old := now.Sub(k.fetched).Abs() >= refreshEvery; {
	case k.flight != nil:
	case k.keys == nil && tried >= firstGap,
		k.keys != nil && tried >= gap && (old || len(found) == 0 && id != ""):
		k.start(now)
		mine = true
	}
	switch {
	case len(found) > 0 && !mine, id == "" && k.keys != nil && !mine:
		return found, nil, 0
	case len(found) > 0 || k.failed:
		return found, k.flight, brief
	}
	return found, k.flight, patience
}

func (k *keyring) known() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.keys != nil
}

// warm waits for the first keys.
func (k *keyring) warm(ctx context.Context, now time.Time) {
	if _, flight, _ := k.look(now, ""); flight != nil {
		await(ctx, flight, fetchTime)
	}
}

// start starts a fetch. The caller holds the lock.
func (k *keyring) start(now time.Time) {
	landed := make(chan struct{})
	k.tried, k.flight = now, landed
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
		defer cancel()
		keys, err := k.fetch.keys(ctx, k.issuer, k.jwks)
		k.mu.Lock()
		if err == nil {
			k.keys, k.fetched = keys, now
		}
		k.failed, k.flight = err != nil, nil
		kept := len(k.keys)
		k.mu.Unlock()
		if err != nil {
			k.log.Error("keys of an issuer cannot be fetched", "issuer", k.issuer, "keys_kept", kept, "error", err)
		}
		close(landed)
	}()
}

// await waits for a fetch to end, within a time and the context.
func await(ctx context.Context, flight <-chan struct{}, within time.Duration) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-flight:
	case <-timer.C:
	case <-ctx.Done():
	}
}

package apikeys

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/kit/cache"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

const (
	// Fresh is how long a verifier uses what it has read of a key.
	Fresh = cache.Every
	// Stale is how old a key may be that stands in for a read which fails.
	Stale = 10 * time.Minute
	// maxEntries bounds the keys in memory: about 1 KB each, more with large
	// claims.
	maxEntries = 20_000
	// readTimeout bounds one read of a key, in real time.
	readTimeout = time.Second

	// A made-up key can have the right form, because the form holds no secret.
	// unknownBurst and unknownPerSecond bound the reads for such keys. Reads of
	// keys that exist are not bounded.
	unknownBurst     = 200
	unknownPerSecond = 20
)

// ErrUnavailable is the error of a key that cannot be verified now: the table
// does not answer, or too many unknown keys are being tried.
var ErrUnavailable = errors.New("API keys cannot be verified now")

var (
	errNoKey   = errors.New("there is no such key")
	errTooMany = errors.New("too many unknown keys are being tried")
)

// Reader returns the key with this name, nil if there is none.
// ruletable.Table.APIKey is one.
type Reader func(ctx context.Context, name string) (*ruletable.APIKey, error)

// Verifier verifies the keys that requests send. A key costs one consistent
// read in ten seconds, regardless of the number of requests, and so a key that
// is revoked is refused after ten seconds at most. Its expiry is exact. Text
// that is no key costs no read.
//
// If a read fails or takes longer than a tenth of a second, the last one stays in
// force, for ten minutes at most, and a request reads again after a second. So
// while the table cannot be read, a key that was revoked meanwhile works as long.
// A request with a key that this process does not know waits for a second at most.
//
// A flood of made-up keys costs at most 200 reads at once and 20 a second. Keys
// that this process knows are verified all the same. Others fail with
// ErrUnavailable if the flood has used up the reads.
//
// The cache is bounded. Frequency and age of use decide which keys are evicted,
// so that a flood evicts no key in steady use. A Verifier is safe for concurrent
// use.
type Verifier struct {
	read    Reader
	report  func(error)
	keys    *cache.Reloaded[name, *entry]
	unknown cache.Budget
}

// name is the public part of a key. Errors do not quote it.
type name string

func (name) String() string { return "API key" }

// entry is a key that exists, or did. It never changes.
type entry struct {
	key    *ruletable.APIKey // nil once it was deleted
	claims map[string]any    // with the plan
}

// NewVerifier returns a verifier. report receives the reads that failed while
// requests went on with an earlier one, and the items that cannot be read.
func NewVerifier(read Reader, report func(error)) *Verifier {
	v := &Verifier{read: read, report: report, unknown: cache.Budget{Burst: unknownBurst, PerSecond: unknownPerSecond}}
	v.keys = cache.NewReloaded(cache.Options[name, *entry]{
		Load: v.load, FirstTimeout: readTimeout, Timeout: readTimeout, MaxAge: Stale, MaxEntries: maxEntries,
		Report: func(_ name, _ *entry, err error) {
			report(fmt.Errorf("verifying an API key, keeping the last answer: %w", err))
		},
		Answer: func(err error) bool { return errors.Is(err, errNoKey) },
	})
	return v
}

// Caller is who a valid key stands for.
type Caller struct {
	ID     string         // never the key itself
	Claims map[string]any // shared and read-only; never nil
}

// Verify returns the caller of a key as a client sent it; nil if the key does
// not exist, has ended or is revoked. It fails with ErrUnavailable if it cannot
// know.
func (v *Verifier) Verify(ctx context.Context, now time.Time, sent string) (*Caller, error) {
	k, ok := Parse(sent)
	if !ok {
		return nil, nil
	}
	e, err := v.keys.Get(ctx, now, name(k.Name()))
	switch {
	case errors.Is(err, errNoKey):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	stored := e.key
	if stored == nil || subtle.ConstantTimeCompare([]byte(stored.Hash), []byte(k.Hash())) != 1 ||
		!stored.Revoked.IsZero() || stored.Expired(now) {
		return nil, nil
	}
	return &Caller{stored.ID, e.claims}, nil
}

// load reads a key.
func (v *Verifier) load(ctx context.Context, now time.Time, n name, last *entry) (*entry, error) {
	if last == nil && !v.unknown.Take(now) {
		return nil, errTooMany
	}
	stored, err := v.read(ctx, string(n))
	if errors.Is(err, ruletable.ErrUnreadableKey) {
		v.report(err)
		stored, err = nil, nil
	}
	switch {
	case err != nil:
		return nil, err
	case stored != nil:
		if last == nil {
			v.unknown.Refund()
		}
		return &entry{stored, claimsOf(stored)}, nil
	case last != nil:
		return &entry{}, nil
	}
	return nil, errNoKey
}

// claimsOf returns the claims of a stored key, with its plan. Numbers keep all
// their digits.
func claimsOf(k *ruletable.APIKey) map[string]any {
	claims := map[string]any{}
	d := json.NewDecoder(strings.NewReader(string(k.Claims)))
	d.UseNumber()
	_ = d.Decode(&claims) // the table has checked them
	if claims == nil {
		claims = map[string]any{}
	}
	if k.Plan != "" {
		claims["plan"] = k.Plan
	}
	return claims
}

// Authenticate reads the key in a header, its name in lower case, and sets the
// request's APIKey and Claims, or Rejected for a key that is not valid. A request
// without the header stays as it is. Several keys are not valid. If the key
// cannot be verified, it fails with ErrUnavailable and changes nothing.
func (v *Verifier) Authenticate(ctx context.Context, now time.Time, header string, r *request.Request) error {
	sent := r.Header(header)
	if len(sent) == 0 {
		return nil
	}
	var caller *Caller
	if len(sent) == 1 {
		var err error
		if caller, err = v.Verify(ctx, now, sent[0]); err != nil {
			return err
		}
	}
	if caller == nil {
		r.Rejected = true
		return nil
	}
	r.APIKey, r.Claims = caller.ID, caller.Claims
	return nil
}

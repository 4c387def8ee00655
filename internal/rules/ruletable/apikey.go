package ruletable

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// APIKey is what the table holds of an API key. Its secret is not there.
type APIKey struct {
	Name      string    `json:"key" dynamodbav:"s"`                                     // public, such as sg_59b94cffe8b34dbf
	ID        string    `json:"id" dynamodbav:"id"`                                     // the caller in rules, as {apikey}; several keys may share it
	Hash      string    `json:"-" dynamodbav:"hash"`                                    // SHA-256 of the secret, in hexadecimal digits
	Plan      string    `json:"plan,omitempty" dynamodbav:"plan"`                       // "" for none
	Claims    JSONText  `json:"claims,omitempty" dynamodbav:"claims"`                   // a JSON object; "" for none
	Expires   time.Time `json:"expires,omitzero" dynamodbav:"expires,omitempty"`        // zero for never
	Revoked   time.Time `json:"revoked,omitzero" dynamodbav:"revoked,omitempty"`        // zero for a key that is not
	Successor string    `json:"replaced_by,omitempty" dynamodbav:"successor,omitempty"` // the key's that has replaced this one
	Note                // of who created it
	Revision  int64     `json:"-" dynamodbav:"revision"` // a random number for each state of the item
}

// Expired reports whether the key's time is over. A key that is revoked is not
// expired by that.
func (k *APIKey) Expired(now time.Time) bool { return !k.Expires.IsZero() && !now.Before(k.Expires) }

const (
	partitionAPIKey = "apikey"

	attrExpires = "expires"
	attrRevoked = "revoked"

	// maxAPIKey bounds the plan, the claims and the notes of a key, in bytes,
	// because requests wait for it.
	maxAPIKey = 8 << 10
)

var (
	// ErrNoAPIKey is the error of changing an API key that does not exist.
	ErrNoAPIKey = errors.New("there is no such API key; `slidegate apikeys list` shows those there are")
	// ErrRevoked is the error of changing a key that has been revoked.
	ErrRevoked = errors.New("the key is revoked already; `slidegate apikeys create` makes a new one")
	// ErrEnded is the error of rotating a key that has expired, or that another
	// key has replaced already: its expiry is no longer the caller's.
	ErrEnded = errors.New("the key has expired or has a successor; `slidegate apikeys list --all` shows it, and `slidegate apikeys create` makes a new one")
	// ErrUnreadableKey is the error for an API key that this package did not
	// write, or that is not valid.
	ErrUnreadableKey = errors.New("the item cannot be read, so no request with the key is accepted; `slidegate apikeys revoke` removes it")
)

// apiKeyID is the form of an id, which is in counters, logs and commands.
var apiKeyID = ruledoc.Regexp(`^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$`)

func (k *APIKey) check() error {
	switch {
	case !apiKeyID().MatchString(k.ID):
		return fmt.Errorf("id %.130q: want 1 to 128 letters, digits, . _ : @ and -, a letter or digit first", k.ID)
	case len(k.Plan)+len(k.Claims)+k.size() > maxAPIKey:
		return fmt.Errorf("its plan, claims and notes are %w: the limit is %d bytes", ErrTooLarge, maxAPIKey)
	}
	return nil
}

// putKey writes a key with a new revision if the condition holds.
func (t *Table) putKey(k APIKey, c condition) (types.TransactWriteItem, error) {
	if err := k.check(); err != nil {
		return types.TransactWriteItem{}, fmt.Errorf("API key %s: %w", k.Name, err)
	}
	k.Revision = 1 + rand.Int64N(maxRevision)
	i, err := marshal(k, key(partitionAPIKey, k.Name))
	return t.put(i, c), err
}

// apiKeyOf reads a key from its item. It fails with ErrUnreadableKey. A time that
// cannot be read is an error: the key must not outlive its end because of it.
func (t *Table) apiKeyOf(i item) (*APIKey, error) {
	k := &APIKey{}
	err := unmarshal(i, k)
	claims := map[string]any{}
	switch {
	case err != nil:
	case k.Hash == "" || k.Revision < 1:
		err = errors.New("no hash, or no revision above 0")
	case i[attrExpires] != nil && k.Expires.IsZero() || i[attrRevoked] != nil && k.Revoked.IsZero():
		err = errors.New("expires and revoked are times of RFC 3339")
	case k.Claims != "" && json.Unmarshal([]byte(k.Claims), &claims) != nil:
		err = errors.New("claims is no JSON object")
	default:
		err = k.check()
	}
	if err != nil {
		return nil, t.errorf("API key %s: %w: %w", sortKey(i), ErrUnreadableKey, err)
	}
	return k, nil
}

// APIKey returns the key with this name, nil if there is none. It reads what the
// last change wrote.
func (t *Table) APIKey(ctx context.Context, name string) (*APIKey, error) {
	found, err := t.get(ctx, key(partitionAPIKey, name), true)
	if err != nil || found == nil {
		return nil, err
	}
	return t.apiKeyOf(found)
}

// APIKeys yields the keys whose names begin with prefix, "" for all, in the
// order of their names. It reads page by page. After ErrUnreadableKey for one
// item the next follows; any other error is the last.
func (t *Table) APIKeys(ctx context.Context, prefix string) iter.Seq2[*APIKey, error] {
	return query(ctx, t, within(partitionAPIKey, prefix), t.apiKeyOf)
}

// CreateAPIKey stores a new key. The caller has checked its claims.
func (t *Table) CreateAPIKey(ctx context.Context, k APIKey) error {
	put, err := t.putKey(k, absent)
	if err != nil {
		return err
	}
	return t.transact(ctx, Event{Note: k.Note, Kind: APIKeyCreated, APIKey: k.Name, ID: k.ID, Until: k.Expires}, put)
}

// RevokeAPIKey ends a key at once, and returns it. The item stays, so that lists
// show it; one that is unreadable is removed, and nil returned. RevokeAPIKey
// fails with ErrNoAPIKey and ErrRevoked.
func (t *Table) RevokeAPIKey(ctx context.Context, name string, note Note) (*APIKey, error) {
	e := Event{Note: note, Kind: APIKeyRevoked, APIKey: name}
	k, err := t.validAPIKey(ctx, name)
	if errors.Is(err, ErrUnreadableKey) {
		return nil, t.transact(ctx, e, t.remove(key(partitionAPIKey, name), present))
	}
	if err != nil {
		return nil, err
	}
	e.ID, k.Revoked = k.ID, note.When
	put, err := t.putKey(*k, unchanged(attrRevision, k.Revision))
	if err != nil {
		return nil, err
	}
	return k, t.transact(ctx, e, put)
}

// RotateAPIKey stores next, of which only the name and the hash are set, as the
// successor of a key: with the same id, plan, claims and expiry. The old key ends at
// until, or at its own end if that is earlier. RotateAPIKey returns both keys. It
// fails with ErrNoAPIKey, ErrRevoked and ErrEnded.
func (t *Table) RotateAPIKey(ctx context.Context, name string, next APIKey, until time.Time, note Note) (old, created *APIKey, err error) {
	old, err = t.validAPIKey(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if old.Successor != "" || old.Expired(note.When) {
		return nil, nil, t.errorf("API key %s: %w", name, ErrEnded)
	}
	created = &APIKey{
		Name: next.Name, Hash: next.Hash, ID: old.ID, Plan: old.Plan, Claims: old.Claims, Expires: old.Expires, Note: note,
	}
	old.Successor = next.Name
	if old.Expires.IsZero() || until.Before(old.Expires) {
		old.Expires = until
	}
	put, err := t.putKey(*created, absent)
	change, changeErr := t.putKey(*old, unchanged(attrRevision, old.Revision))
	if err := cmp.Or(err, changeErr); err != nil {
		return nil, nil, err
	}
	e := Event{Note: note, Kind: APIKeyRotated, APIKey: name, NewAPIKey: created.Name, ID: old.ID, Until: old.Expires}
	return old, created, t.transact(ctx, e, put, change)
}

// validAPIKey returns a key that exists and is not revoked.
func (t *Table) validAPIKey(ctx context.Context, name string) (*APIKey, error) {
	k, err := t.APIKey(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case k == nil:
		return nil, t.errorf("API key %s: %w", name, ErrNoAPIKey)
	case !k.Revoked.IsZero():
		return nil, t.errorf("API key %s: %w", name, ErrRevoked)
	}
	return k, nil
}

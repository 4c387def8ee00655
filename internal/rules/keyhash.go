package rules

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	// hmacPrefix begins every hashed key. No other key can: in them two hex digits follow a %.
	hmacPrefix = "%hmac-"
	hmacDigits = 32
	// leastSecret is the length of the shortest secret, in bytes. Keys such as user names are few enough to be tried one by
	// one by whoever can guess the secret too.
	leastSecret = 16
	checkDigits = 8
)

// ErrLocked is wrapped by the error about a key that is to be hashed where the secret is not at hand, or another.
var ErrLocked = errors.New("its keys are hashed")

// keyHash keeps keys out of tables and logs: in their place stands their HMAC-SHA-256 (RFC 2104), cut to 128 bits, under a
// secret that the environment holds. All processes must have the same secret, or each would count for itself; check, the
// first digits of its SHA-256, is how they know.
type keyHash struct {
	env, check string
	secret     []byte // nil until unlocked
	refused    error  // why the last try to unlock it failed
}

// unlock takes the secret from the environment. It fails with ErrSecret if there is none.
func (h *keyHash) unlock(lookup func(name string) (string, bool)) error {
	secret, err := h.find(lookup)
	if h.refused = err; err == nil {
		h.secret = []byte(secret)
	}
	return err
}

func (h *keyHash) find(lookup func(name string) (string, bool)) (secret string, err error) {
	secret, ok := lookup(h.env)
	switch {
	case !ok || secret == "":
		return "", fmt.Errorf("hash_secret: %w", noSecret(h.env))
	case len(secret) < leastSecret:
		return "", fmt.Errorf("hash_secret: the secret in %s has %d bytes, which can be guessed: make one of %d or more, "+
			"as openssl rand -hex 32 does", h.env, len(secret), leastSecret)
	case checkOf(secret) != h.check:
		return "", fmt.Errorf("hash_secret: the secret in %s is not the one that the rules were written for: its check is %s, and theirs is %s",
			h.env, checkOf(secret), h.check)
	}
	return secret, nil
}

// locked returns why keys cannot be hashed as tables have them; nil if they can.
func (h *keyHash) locked() error {
	switch {
	case h == nil || h.secret != nil:
		return nil
	case h.refused != nil:
		return h.refused
	}
	return fmt.Errorf("hash_secret: %w", noSecret(h.env))
}

// checkOf returns what tells secrets apart without telling them.
func checkOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:checkDigits/2])
}

// append appends the hash of a key.
func (h *keyHash) append(dst, key []byte) []byte {
	mac := hmac.New(sha256.New, h.secret)
	mac.Write(key)
	var sum [sha256.Size]byte
	return hex.AppendEncode(append(dst, hmacPrefix...), mac.Sum(sum[:0])[:hmacDigits/2])
}

// isHashed reports whether a key that fits some template is a hashed one.
func isHashed(key string) bool { return strings.HasPrefix(key, hmacPrefix) }

// fitsHash reports why a text that begins as a hashed key does is none.
func fitsHash(key string) error {
	if digits := key[len(hmacPrefix):]; len(digits) != hmacDigits || strings.Trim(digits, "0123456789abcdef") != "" {
		return fmt.Errorf("a hashed key is %s and %d hex digits", hmacPrefix, hmacDigits)
	}
	return nil
}

// UnlockKeys is Unlock for the secret by which keys are hashed alone: enough to find counters and overrides.
func (s *Set) UnlockKeys(lookup func(name string) (string, bool)) error {
	if s.hash == nil {
		return nil
	}
	err := s.hash.unlock(lookup)
	s.hashOverrides()
	return err
}

// Locked returns why the keys that the set hashes are not those of tables: it was not unlocked, or the environment has another
// secret. Until then it hashes by none, and is at one with itself alone. It is nil for a set that hashes no keys.
func (s *Set) Locked() error { return s.hash.locked() }

// hashOverrides finds the hashes of the keys of overrides that the document itself holds.
func (s *Set) hashOverrides() {
	s.hashed = map[string]map[string]*Override{}
	for rule, written := range s.overrides {
		if keys := s.overrideKeys(rule); keys.hash != nil {
			s.hashed[rule] = s.hash.all(written)
		}
	}
}

// hashesKeys reports whether any keys are hashed.
func (s *Set) hashesKeys() bool {
	return s.plan.overrides != nil && s.plan.overrides.hash != nil || slices.ContainsFunc(s.Rules, (*Rule).Hashed)
}

// all returns overrides by the hashes of their keys.
func (h *keyHash) all(written map[string]*Override) map[string]*Override {
	hashed := make(map[string]*Override, len(written))
	for key, o := range written {
		if !isHashed(key) {
			key = string(h.append(nil, []byte(key)))
		}
		hashed[key] = o
	}
	return hashed
}

package key

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

const (
	// hmacPrefix begins every hashed key.
	hmacPrefix = ruledoc.HashedKey
	hmacDigits = 32
	// leastSecret is the length of the shortest secret, in bytes. Keys such as
	// user names can be found by trying them all if the secret can be guessed
	// too.
	leastSecret = 16
	checkDigits = 8
)

// ErrHashSecret is wrapped by the error about a key that must be hashed while
// the secret for that is not loaded.
var ErrHashSecret = errors.New("its keys are hashed")

// Hash keeps keys out of tables and logs. It replaces them by their
// HMAC-SHA-256 (RFC 2104), cut to 128 bits, under a secret of the environment.
// All processes must have the same secret, or each would count separately;
// check, the first digits of its SHA-256, ensures that.
type Hash struct {
	Env, Check string
	Secret     []byte // anySecret until the right one is loaded
	Missing    error  // why it is not loaded; nil if it is
}

// RandomSecret is a random secret, the same for all that this process hashes
// without the right one.
var RandomSecret = sync.OnceValue(func() []byte { return []byte(rand.Text()) })

// Verify reports why a secret of the environment cannot be the right one.
func (h *Hash) Verify(secret string) error {
	sum := sha256.Sum256([]byte(secret))
	check := hex.EncodeToString(sum[:checkDigits/2]) // distinguishes secrets without revealing them
	switch {
	case len(secret) < leastSecret:
		return fmt.Errorf("hash_secret: the secret in %s has %d bytes, which can be guessed: make one of %d or more, "+
			"as openssl rand -hex 32 does", h.Env, len(secret), leastSecret)
	case check != h.Check:
		return fmt.Errorf("hash_secret: the secret in %s has the check %q, and the rules say %q: set the secret that the rules were written for",
			h.Env, check, h.Check)
	}
	return nil
}

// append appends the hash of a key.
func (h *Hash) append(dst, key []byte) []byte {
	mac := hmac.New(sha256.New, h.Secret)
	mac.Write(key)
	var sum [sha256.Size]byte
	return hex.AppendEncode(append(dst, hmacPrefix...), mac.Sum(sum[:0])[:hmacDigits/2])
}

// IsHashed reports whether a key that fits some template is hashed.
func IsHashed(key string) bool { return strings.HasPrefix(key, hmacPrefix) }

// Of returns the hash of a key; a hash is its own.
func (h *Hash) Of(key string) string {
	if IsHashed(key) {
		return key
	}
	return string(h.append(nil, []byte(key)))
}

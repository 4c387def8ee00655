package rules

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/slidegate/slidegate/internal/ruledoc"
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

// keyHash keeps keys out of tables and logs. It replaces them by their
// HMAC-SHA-256 (RFC 2104), cut to 128 bits, under a secret of the environment.
// All processes must have the same secret, or each would count separately;
// check, the first digits of its SHA-256, ensures that.
type keyHash struct {
	env, check string
	secret     []byte // anySecret until the right one is loaded
	missing    error  // why it is not loaded; nil if it is
}

// anySecret is a random secret, the same for all that this process hashes
// without the right one.
var anySecret = sync.OnceValue(func() []byte { return []byte(rand.Text()) })

// find returns the secret of the environment. It fails with ErrMissingSecret if
// there is none.
func (h *keyHash) find(lookup func(name string) (string, bool)) (secret string, err error) {
	switch secret, err = secretOf(lookup, h.env); {
	case err != nil:
		return "", fmt.Errorf("hash_secret: %w", err)
	case len(secret) < leastSecret:
		return "", fmt.Errorf("hash_secret: the secret in %s has %d bytes, which can be guessed: make one of %d or more, "+
			"as openssl rand -hex 32 does", h.env, len(secret), leastSecret)
	case checkOf(secret) != h.check:
		return "", fmt.Errorf("hash_secret: the secret in %s is not the one that the rules were written for: its check is %s, and theirs is %s",
			h.env, checkOf(secret), h.check)
	}
	return secret, nil
}

// checkOf returns digits that distinguish secrets without revealing them.
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

// isHashed reports whether a key that fits some template is hashed.
func isHashed(key string) bool { return strings.HasPrefix(key, hmacPrefix) }

// fitsHash reports why a text that begins as a hashed key is none.
func fitsHash(key string) error {
	if digits := key[len(hmacPrefix):]; len(digits) != hmacDigits || strings.Trim(digits, "0123456789abcdef") != "" {
		return fmt.Errorf("a hashed key is %s and %d hex digits", hmacPrefix, hmacDigits)
	}
	return nil
}

// LoadHashSecret does what LoadSecrets does for the secret of hashed keys
// alone: enough to find counters and overrides.
func (s *Set) LoadHashSecret(lookup func(name string) (string, bool)) error {
	if s.hash == nil {
		return nil
	}
	err := s.loadHashSecret(lookup)
	if s.hash.missing = err; err != nil {
		s.useRandomSecret()
	}
	return err
}

func (s *Set) loadHashSecret(lookup func(name string) (string, bool)) error {
	secret, err := s.hash.find(lookup)
	if err != nil {
		return err
	}
	s.hash.secret = []byte(secret)
	hashed, err := s.hashOverrides()
	s.hashed = func() map[string]map[string]*Override { return hashed }
	return err
}

// useRandomSecret has the set hash by a random secret of this process. Most sets
// load their secret before they look up an override, so nothing is hashed
// until then.
func (s *Set) useRandomSecret() {
	s.hash.secret = anySecret()
	s.hashed = sync.OnceValue(func() map[string]map[string]*Override {
		hashed, _ := s.hashOverrides() // no document can hold a hash by that secret
		return hashed
	})
}

// HashSecretError returns why the keys that the set hashes are not those of
// tables: LoadSecrets was not called or failed. Until then the set uses a
// random per-process secret, so hashes match only within this process. It is
// nil for a set that hashes no keys.
func (s *Set) HashSecretError() error {
	if s.hash == nil {
		return nil
	}
	return s.hash.missing
}

// hashOverrides returns the document's own overrides whose keys are hashed, by
// rule and hash. It fails if one key is there twice, plain and hashed.
func (s *Set) hashOverrides() (all map[string]map[string]*Override, err error) {
	all = map[string]map[string]*Override{}
	for _, rule := range slices.Sorted(maps.Keys(s.overrides)) {
		if !s.OverridesHashed(rule) {
			continue
		}
		if all[rule], err = s.hash.all(s.overrides[rule]); err != nil {
			return nil, fmt.Errorf("overrides of %s: %w", rule, err)
		}
	}
	return all, nil
}

// WritesHashes reports whether the document holds overrides by the hashes of
// their keys: only with the secret they can be found.
func (s *Set) WritesHashes() bool {
	for rule, written := range s.overrides {
		for key := range written {
			if s.OverridesHashed(rule) && isHashed(key) {
				return true
			}
		}
	}
	return false
}

// hashesKeys reports whether any keys are hashed.
func (s *Set) hashesKeys() bool {
	return s.OverridesHashed(PlanOverrides) || slices.ContainsFunc(s.Rules, (*Rule).Hashed)
}

// all returns overrides by the hashes of their keys.
func (h *keyHash) all(written map[string]*Override) (map[string]*Override, error) {
	hashed := make(map[string]*Override, len(written))
	for key, o := range written {
		hash := h.of(key)
		if _, ok := written[hash]; ok && hash != key {
			return nil, fmt.Errorf("%s is the hash of %s, which is there too: remove one of them", hash, key)
		}
		hashed[hash] = o
	}
	return hashed, nil
}

// of returns the hash of a key; a hash is its own.
func (h *keyHash) of(key string) string {
	if isHashed(key) {
		return key
	}
	return string(h.append(nil, []byte(key)))
}

// Rehashed reports whether a table holds an override by a hash that another set
// may have made, while this set makes other hashes: by another secret, or of
// keys of another form. rule may be PlanOverrides.
func (s *Set) Rehashed(from *Set, rule, key string) bool {
	if from == nil || !from.OverridesHashed(rule) || !s.OverridesHashed(rule) || !isHashed(key) {
		return false
	}
	was, is := from.overrideKeys(rule), s.overrideKeys(rule)
	return was.hash.check != is.hash.check || was.outline() != is.outline()
}

// outline formats what all keys of the template have in common: the text around
// their values.
func (t *template) outline() string {
	var b strings.Builder
	for _, p := range t.parts {
		if p.source == literal {
			b.WriteString(p.text)
		} else {
			b.WriteString("{}")
		}
	}
	return b.String()
}

// Collides reports whether two sets expect different secrets in the same
// environment variable: no process can have both.
func (s *Set) Collides(with *Set) bool {
	return s.hash != nil && with.hash != nil && s.hash.env == with.hash.env && s.hash.check != with.hash.check
}

var (
	envName      = ruledoc.Pattern(ruledoc.HashSecret{}, "env")
	checkPattern = ruledoc.Pattern(ruledoc.HashSecret{}, "check")
)

func (c *compiler) envName(path, name, example string) string {
	if name != "" && !envName.MatchString(name) {
		c.fail(path, "%q is no environment variable: write a name such as %s", name, example)
	}
	return name
}

// keyHash compiles the secret for hashed keys; nil for none.
func (c *compiler) keyHash(d *ruledoc.HashSecret) *keyHash {
	if d == nil {
		return nil
	}
	if d.Check != "" && !checkPattern.MatchString(d.Check) {
		c.fail("hash_secret.check", `%q is no check: write the first 8 digits that printf %%s "$KEY_SECRET" | sha256sum prints`, d.Check)
	}
	h := &keyHash{env: c.envName("hash_secret.env", d.Env, "KEY_SECRET"), check: d.Check}
	h.missing = fmt.Errorf("hash_secret: %w", noSecret(h.env))
	return h
}

// hashed returns by what the keys of a rule or of plans are hashed; nil for
// not at all.
func (c *compiler) hashed(path string, hash bool) *keyHash {
	if !hash {
		return nil
	}
	if c.set.hash == nil {
		c.fail(path+".hash", `there is no secret: write hash_secret: {env: KEY_SECRET, check: "1a2b3c4d"} at the top of the document`)
	}
	return c.set.hash
}

package rules

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/key"
)

// LoadHashSecret does what LoadSecrets does for the secret of hashed keys
// alone: enough to find counters and overrides.
func (s *Set) LoadHashSecret(lookup func(name string) (string, bool)) error {
	if s.hash == nil {
		return nil
	}
	err := s.loadHashSecret(lookup)
	if s.hash.Missing = err; err != nil {
		s.useRandomSecret()
	}
	return err
}

func (s *Set) loadHashSecret(lookup func(name string) (string, bool)) error {
	secret, err := secretOf(lookup, s.hash.Env)
	if err == nil {
		err = s.hash.Verify(secret)
	}
	if err != nil {
		return fmt.Errorf("hash_secret: %w", err)
	}
	s.hash.Secret = []byte(secret)
	hashed, err := s.hashOverrides()
	s.hashed = func() map[string]map[string]*Override { return hashed }
	return err
}

// useRandomSecret has the set hash by a random secret of this process. Most sets
// load their secret before they look up an override, so nothing is hashed
// until then.
func (s *Set) useRandomSecret() {
	s.hash.Secret = key.RandomSecret()
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
	return s.hash.Missing
}

// hashOverrides returns the document's own overrides whose keys are hashed, by
// rule and hash. It fails if one key is there twice, plain and hashed.
func (s *Set) hashOverrides() (all map[string]map[string]*Override, err error) {
	all = map[string]map[string]*Override{}
	for _, rule := range slices.Sorted(maps.Keys(s.overrides)) {
		if !s.OverridesHashed(rule) {
			continue
		}
		if all[rule], err = byHash(s.hash, s.overrides[rule]); err != nil {
			return nil, fmt.Errorf("overrides of %s: %w", rule, err)
		}
	}
	return all, nil
}

// WritesHashes reports whether the document holds overrides by the hashes of
// their keys: only with the secret they can be found.
func (s *Set) WritesHashes() bool {
	for rule, written := range s.overrides {
		for text := range written {
			if s.OverridesHashed(rule) && key.IsHashed(text) {
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

// byHash returns overrides by the hashes of their keys.
func byHash(h *key.Hash, written map[string]*Override) (map[string]*Override, error) {
	hashed := make(map[string]*Override, len(written))
	for key, o := range written {
		hash := h.Of(key)
		if _, ok := written[hash]; ok && hash != key {
			return nil, fmt.Errorf("%s is the hash of %s, which is there too: remove one of them", hash, key)
		}
		hashed[hash] = o
	}
	return hashed, nil
}

// Rehashed reports whether a table holds an override by a hash that another set
// may have made, while this set makes other hashes: by another secret, or of
// keys of another form. rule may be PlanOverrides.
func (s *Set) Rehashed(from *Set, rule, text string) bool {
	if from == nil || !from.OverridesHashed(rule) || !s.OverridesHashed(rule) || !key.IsHashed(text) {
		return false
	}
	was, is := from.overrideKeys(rule), s.overrideKeys(rule)
	return was.Hash.Check != is.Hash.Check || was.Outline() != is.Outline()
}

// Collides reports whether two sets expect different secrets in the same
// environment variable: no process can have both.
func (s *Set) Collides(with *Set) bool {
	return s.hash != nil && with.hash != nil && s.hash.Env == with.hash.Env && s.hash.Check != with.hash.Check
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
func (c *compiler) keyHash(d *ruledoc.HashSecret) *key.Hash {
	if d == nil {
		return nil
	}
	if d.Check != "" && !checkPattern.MatchString(d.Check) {
		c.fail("hash_secret.check", `%q is no check: write the first 8 digits that printf %%s "$KEY_SECRET" | sha256sum prints`, d.Check)
	}
	h := &key.Hash{Env: c.envName("hash_secret.env", d.Env, "KEY_SECRET"), Check: d.Check}
	h.Missing = fmt.Errorf("hash_secret: %w", noSecret(h.Env))
	return h
}

// hashed returns by what the keys of a rule or of plans are hashed; nil for
// not at all.
func (c *compiler) hashed(path string, hash bool) *key.Hash {
	if !hash {
		return nil
	}
	if c.set.hash == nil {
		c.fail(path+".hash", `there is no secret: write hash_secret: {env: KEY_SECRET, check: "1a2b3c4d"} at the top of the document`)
	}
	return c.set.hash
}

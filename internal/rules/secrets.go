package rules

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/slidegate/slidegate/internal/rules/key"
)

// ErrMissingSecret is wrapped by the error about a secret that the environment
// does not have.
var ErrMissingSecret = errors.New("a secret that the rules name is not set")

// LoadSecrets takes the secrets that the document names from the environment,
// by a function such as os.LookupEnv. A set that names secrets must not be used
// before. The error is ErrMissingSecret for a secret that is not there.
func (s *Set) LoadSecrets(lookup func(name string) (string, bool)) error {
	return errors.Join(s.LoadProxySecret(lookup), s.LoadHashSecret(lookup))
}

// LoadProxySecret does what LoadSecrets does for the secret of the proxy that
// sends the client's address alone. Without it, the address is the one that the
// gateway saw.
func (s *Set) LoadProxySecret(lookup func(name string) (string, bool)) (err error) {
	if a := &s.address; a.SecretEnv != "" {
		a.Secret, err = secretOf("client_ip", a.SecretEnv, lookup)
	}
	return err
}

// secretOf returns a secret of the environment that a field of the document
// names. It is never empty.
func secretOf(field, env string, lookup func(name string) (string, bool)) (string, error) {
	if secret, ok := lookup(env); ok && secret != "" {
		return secret, nil
	}
	return "", fmt.Errorf("%s: %w: set the environment variable %s", field, ErrMissingSecret, env)
}

// LoadHashSecret does what LoadSecrets does for the secret of hashed keys
// alone: enough to find counters and overrides. Without the right secret, the
// set hashes keys by a random one of this process.
func (s *Set) LoadHashSecret(lookup func(name string) (string, bool)) error {
	if s.hash == nil {
		return nil
	}
	secret, err := secretOf("hash_secret", s.hash.Env, lookup)
	if err == nil {
		err = s.hash.Verify(secret)
	}
	if err == nil {
		s.hashBy([]byte(secret))
		_, err = s.hashed()
	}
	if s.hash.Missing = err; err != nil {
		s.hashBy(key.RandomSecret())
	}
	return err
}

// hashBy sets the secret. The document's overrides are hashed once one of them
// is looked up: most sets load another secret before.
func (s *Set) hashBy(secret []byte) {
	s.hash.Secret, s.hashed = secret, sync.OnceValues(s.hashOverrides)
}

// HashSecretError returns an error if the set hashes keys without its secret:
// LoadSecrets was not called or failed. Until then the set uses a random
// per-process secret, so hashes match only within this process. The error is nil
// for a set that hashes no keys.
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
	for _, rule := range sortedKeys(s.overrides) {
		if !s.OverridesHashed(rule) {
			continue
		}
		all[rule] = make(map[string]*Override, len(s.overrides[rule]))
		for key, o := range s.overrides[rule] {
			hash := s.hash.Of(key)
			if _, ok := s.overrides[rule][hash]; ok && hash != key {
				return nil, fmt.Errorf("overrides of %s: %s is the hash of %s, which is there too: remove one of them", rule, hash, key)
			}
			all[rule][hash] = o
		}
	}
	return all, nil
}

// WritesHashes reports whether the document holds overrides by the hashes of
// their keys: only with the secret they can be found.
func (s *Set) WritesHashes() bool {
	for rule, written := range s.overrides {
		if s.OverridesHashed(rule) && slices.ContainsFunc(sortedKeys(written), key.IsHashed) {
			return true
		}
	}
	return false
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

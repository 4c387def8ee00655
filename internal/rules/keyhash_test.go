package rules

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

const (
	keySecret = "correct horse battery staple"
	// hashing has a hashed twin of each of its rules.
	hashing = `
hash_secret: {env: KEYS, check: c4bbcb1f}
plan: {overrides: "user:{jwt.sub}", hash: true}
rules:
  - {name: api, key: "tenant:{jwt.tenant}|user:{jwt.sub}", overrides: "tenant:{jwt.tenant}", limits: [{capacity: 9, window: 60s}]}
  - {name: api-hashed, hash: true, key: "tenant:{jwt.tenant}|user:{jwt.sub}", overrides: "tenant:{jwt.tenant}", limits: [{capacity: 9, window: 60s}]}
  - {name: own, key: "{jwt.sub}", overrides: true, limits: [{capacity: 9, window: 60s}]}
  - {name: own-hashed, hash: true, key: "{jwt.sub}", overrides: true, limits: [{capacity: 9, window: 60s}]}
overrides:
  plan: {"user:a|b": {deny: true}}
  api: {"tenant:acme": {capacity: 20}}
  api-hashed: {"tenant:acme": {capacity: 20}, "%hmac-00112233445566778899aabbccddeeff": {capacity: 30}}
`
)

var hashedKey = regexp.MustCompile("^%hmac-[0-9a-f]{32}$")

func keys(name string) (string, bool) { return keySecret, name == "KEYS" }

func withSecrets(t testing.TB, document string) *Set {
	t.Helper()
	s := parse(t, document)
	if err := s.LoadSecrets(keys); err != nil {
		t.Fatal(err)
	}
	return s
}

// The hashes are those of printf %s KEY | openssl dgst -sha256 -hmac "$KEYS", cut to 32 digits.
func TestHashedKeys(t *testing.T) {
	s := withSecrets(t, hashing)
	req := user("GET", "/", map[string]any{"tenant": "acme", "sub": "a|b"})
	for name, want := range map[string][2]string{
		"api":        {"tenant:acme|user:a%7Cb", "tenant:acme"},
		"api-hashed": {"%hmac-881fd72b699a5625724180eb42064d2e", "%hmac-a6ac0e204434eb3e1d750b72407925dd"},
		"own-hashed": {"%hmac-ca6cc46d28170f95a2aa7c804926426a", "%hmac-ca6cc46d28170f95a2aa7c804926426a"},
	} {
		r, _ := s.Rule(name)
		override, _ := r.AppendOverrideKey([]byte("before "), req)
		if got := [2]string{string(r.AppendKey(nil, req)), strings.TrimPrefix(string(override), "before ")}; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if key, _ := s.AppendPlanKey(nil, req); string(key) != "%hmac-832a9a2376e9d090d5075069cb45c94c" {
		t.Errorf("plan: %q", key)
	}
}

// The document's override of a key is found by the key's hash.
func TestHashedOverrides(t *testing.T) {
	s := withSecrets(t, hashing)
	for _, tt := range []struct {
		rule, key string
		want      int64
	}{
		{"api", "tenant:acme", 20},
		{"api-hashed", "tenant:acme", 20},
		{"api-hashed", "tenant:other", 0},
		{"api-hashed", "%hmac-00112233445566778899aabbccddeeff", 30},
	} {
		key, err := s.OverrideKey(tt.rule, tt.key)
		if err != nil {
			t.Fatal(err)
		}
		var got int64
		if o := s.Override(tt.rule, key); o != nil {
			got = o.Capacity[""]
		}
		if got != tt.want {
			t.Errorf("%s of %s, which is %s: capacity %d, want %d", tt.key, tt.rule, key, got, tt.want)
		}
	}
	if o := s.Override("api-hashed", "tenant:acme"); o != nil {
		t.Error("a key that was not hashed finds an override")
	}
	key, _ := s.AppendPlanKey(nil, user("GET", "/", map[string]any{"sub": "a|b"}))
	if _, denied, _ := s.ResolvePlan(&request.Request{}, s.Override(PlanOverrides, string(key)), true); !denied {
		t.Error("the override of the plan is not found")
	}
}

// Two callers share a hashed counter exactly if they share a plain one.
func TestHashedKeysAreDistinct(t *testing.T) {
	s := withSecrets(t, hashing)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "-", "a", "a|b", "a%7Cb", strings.Repeat("x", 600), strings.Repeat("x", 601)}))
		var seen [4][2]string
		for i := range 2 {
			req := user("GET", "/", map[string]any{"tenant": text.Draw(t, "tenant"), "sub": text.Draw(t, "sub")})
			for j, r := range s.Rules {
				seen[j][i] = string(r.AppendKey(nil, req))
				if made := seen[j][i]; r.Hashed() != hashedKey.MatchString(made) {
					t.Fatalf("rule %s: key %q", r.Name, made)
				}
			}
		}
		for _, j := range []int{0, 2} {
			plain, hashed := seen[j], seen[j+1]
			if (plain[0] == plain[1]) != (hashed[0] == hashed[1]) {
				t.Errorf("keys %q, hashed %q", plain, hashed)
			}
		}
	})
}

// A person may type a key with plain values, as a rule without hashes prints it, or
// its hash. Each gives the key that requests have.
func TestTypedKeysAreHashed(t *testing.T) {
	s := withSecrets(t, hashing)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringN(1, 20, -1), rapid.SampledFrom([]string{"", "-", "a|b", strings.Repeat("x", 600)}))
		req := user("GET", "/", map[string]any{"tenant": text.Draw(t, "tenant"), "sub": text.Draw(t, "sub")})
		for i, hashed := range s.Rules {
			if !hashed.Hashed() {
				continue
			}
			want := string(hashed.AppendKey(nil, req))
			override, _ := hashed.AppendOverrideKey(nil, req)
			plain := string(s.Rules[i-1].AppendKey(nil, req))
			if len(plain) < key.MaxLen {
				if got, err := s.ResolveKeys(hashed, plain, &request.Request{}); err != nil || got.Counter != want || got.Override.Key != string(override) || !got.Exact {
					t.Errorf("%q of %s is %+v, %v; want %s and %s", plain, hashed.Name, got, err, want, override)
				}
			}
			if got, err := s.ResolveKeys(hashed, want, req); err != nil || got.Counter != want || !got.Exact ||
				got.Override.Key != string(override) && (got.Override.Key != "" || !slices.Equal(got.Override.Missing, []string{"jwt.tenant"})) {
				t.Errorf("%q of %s is %+v, %v", want, hashed.Name, got, err)
			}
		}
	})
}

func TestTypedHashes(t *testing.T) {
	s := withSecrets(t, hashing)
	const hash = "%hmac-00112233445566778899aabbccddeeff"
	for _, tt := range []struct{ rule, typed, want, why string }{
		{"own-hashed", hash, hash, ""},
		{"own", hash, strings.Replace(hash, "%", "%25", 1), ""}, // a value like any other
		{"own-hashed", hash[:30], "", `"` + hash[:30] + `" is no key of the overrides of rule own-hashed, which look like {jwt.sub}: a hashed key is %hmac- and 32 hex digits`},
		{"own-hashed", strings.ToUpper(hash), "%hmac-5132217d597186c2115546b5cfd2803e", ""},
		{"api-hashed", "acme", "", `"acme" is no key of the overrides of rule api-hashed, which look like tenant:{jwt.tenant}: write tenant:acme`},
	} {
		got, err := s.OverrideKey(tt.rule, tt.typed)
		if got != tt.want || (err == nil) != (tt.why == "") || err != nil && err.Error() != tt.why {
			t.Errorf("%s of %s: %q, %v; want %q %s", tt.typed, tt.rule, got, err, tt.want, tt.why)
		}
	}
	for key, want := range map[string]string{hash: "", "acme": `"acme" is no key`,
		"tenant:acme": `"tenant:acme" is not hashed, and overrides of rule api-hashed are found by hashes alone`} {
		err := parse(t, hashing).CheckOverride("api-hashed", key, &Override{Deny: true}) // needs no secret
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("checking %s: %v", key, err)
		}
	}
}

// Without the secret, keys that people type are errors: their hash is not known,
// and nor is the document's override of a hash.
func TestMissingHashSecret(t *testing.T) {
	s := parse(t, hashing)
	const why = "its keys are hashed: hash_secret: a secret that the rules name is not set: set the environment variable KEYS"
	own, _ := s.Rule("own-hashed")
	for _, typed := range []string{"a", "%hmac-00112233445566778899aabbccddeeff"} {
		if _, err := s.OverrideKey("own-hashed", typed); !errors.Is(err, key.ErrHashSecret) || err.Error() != "overrides of rule own-hashed: "+why {
			t.Errorf("an override of %s: %v", typed, err)
		}
		if _, err := s.ResolveKeys(own, typed, &request.Request{}); !errors.Is(err, key.ErrHashSecret) || err.Error() != "rule own-hashed: "+why {
			t.Errorf("a counter of %s: %v", typed, err)
		}
	}
	req := user("GET", "/", map[string]any{"tenant": "acme", "sub": "a|b"})
	made := string(own.AppendKey(nil, req))
	if !hashedKey.MatchString(made) {
		t.Errorf("a request: %q", made)
	}
	if other, _ := parse(t, hashing).Rule("own-hashed"); string(other.AppendKey(nil, req)) != made {
		t.Error("two sets of one process make different hashes")
	}
	api, _ := s.Rule("api-hashed")
	if key, _ := api.AppendOverrideKey(nil, req); s.Override("api-hashed", string(key)) == nil {
		t.Error("without the secret, the set does not find its own override of a key")
	}
}

// Without a loaded secret, hashes have a random secret, not an empty one.
func TestHashesWithoutSecret(t *testing.T) {
	r, _ := parse(t, hashing).Rule("own-hashed")
	key := string(r.AppendKey(nil, user("GET", "/", map[string]any{"sub": "a"})))
	mac := hmac.New(sha256.New, nil)
	mac.Write([]byte("a"))
	if key == ruledoc.HashedKey+hex.EncodeToString(mac.Sum(nil)[:16]) {
		t.Errorf("%s is the hash of a under no secret", key)
	}
}

// A document cannot have overrides for a key and for the hash of that key.
func TestKeyAndItsHash(t *testing.T) {
	const twice = `"tenant:acme": {capacity: 20}, "%hmac-a6ac0e204434eb3e1d750b72407925dd": {deny: true}, `
	s := parse(t, strings.Replace(hashing, `api-hashed: {"tenant:acme": {capacity: 20}, `, `api-hashed: {`+twice, 1))
	const want = "overrides of api-hashed: %hmac-a6ac0e204434eb3e1d750b72407925dd is the hash of tenant:acme, which is there too: remove one of them"
	if err := s.LoadSecrets(keys); err == nil || err.Error() != want || s.HashSecretError() == nil || s.HashSecretError().Error() != want {
		t.Errorf("LoadSecrets: %v, HashSecretError: %v", err, s.HashSecretError())
	}
	key, _ := s.Rules[1].AppendOverrideKey(nil, user("GET", "/", map[string]any{"tenant": "acme"}))
	if o := s.Override("api-hashed", string(key)); o == nil || o.Capacity[""] != 20 {
		t.Errorf("without the secret, the set finds %+v", o)
	}
}

// With another secret, a hash is that of another caller.
func TestDiffOfSecrets(t *testing.T) {
	next := parse(t, strings.Replace(hashing, "check: c4bbcb1f", "check: 8a33af0f", 1))
	got := strings.Join(lines(changes(parse(t, hashing), next)), "\n")
	for _, want := range []string{
		"hash_secret: from {env: KEYS, check: c4bbcb1f} to {env: KEYS, check: 8a33af0f}",
		"rule api-hashed: its counters start at zero", "rule own-hashed: ", "plan.overrides",
		"overrides of %hmac-00112233445566778899aabbccddeeff by 8a33af0f: added: {capacity: 30}",
		"overrides of %hmac-00112233445566778899aabbccddeeff by c4bbcb1f: removed: {capacity: 30}",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, "rule api:") || strings.Contains(got, "rule own:") || strings.Contains(got, "tenant:acme: added") {
		t.Errorf("keys that are not hashed differ:\n%s", got)
	}
}

func TestWritesHashes(t *testing.T) {
	for document, want := range map[string]bool{
		hashing: true, strings.ReplaceAll(hashing, `, "%hmac-00112233445566778899aabbccddeeff": {capacity: 30}`, ""): false, "rules: []": false,
	} {
		if got := parse(t, document).WritesHashes(); got != want {
			t.Errorf("%t of:%s", got, document)
		}
	}
}

func TestLoadHashSecret(t *testing.T) {
	for secret, want := range map[string]string{
		"":                 "hash_secret: a secret that the rules name is not set: set the environment variable KEYS",
		"fifteen bytes!!":  "hash_secret: the secret in KEYS has 15 bytes, which can be guessed: make one of 16 or more, as openssl rand -hex 32 does",
		"another secret!!": `hash_secret: the secret in KEYS has the check "8a33af0f", and the rules say "c4bbcb1f": set the secret that the rules were written for`,
		keySecret:          "",
	} {
		s := parse(t, hashing)
		for name, load := range map[string]func(func(string) (string, bool)) error{"LoadSecrets": s.LoadSecrets, "LoadHashSecret": s.LoadHashSecret} {
			err := load(func(string) (string, bool) { return secret, true })
			if (err == nil) != (want == "") || err != nil && err.Error() != want || errors.Is(err, ErrMissingSecret) != (secret == "") {
				t.Errorf("%s by %q: %v, want %s", name, secret, err, want)
			}
			if missing := s.HashSecretError(); (err == nil) != (missing == nil) || err != nil && missing.Error() != err.Error() {
				t.Errorf("%s by %q: HashSecretError is %v, want %v", name, secret, missing, err)
			}
		}
	}
	both := parse(t, "client_ip: {header: x, secret: {header: y, env: ORIGIN}}\n"+strings.TrimPrefix(hashing, "\n"))
	if err := both.LoadHashSecret(keys); err != nil {
		t.Errorf("the hashed keys need no other secret: %v", err)
	}
	if err := both.LoadSecrets(keys); !errors.Is(err, ErrMissingSecret) || !strings.Contains(err.Error(), "ORIGIN") {
		t.Errorf("a limiter needs both: %v", err)
	}
	if err := parse(t, "rules: []").LoadSecrets(keys); err != nil {
		t.Errorf("without secrets: %v", err)
	}
}

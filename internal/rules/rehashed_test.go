package rules

import (
	"strings"
	"testing"
)

func TestRehashed(t *testing.T) {
	const (
		hash  = "%hmac-00112233445566778899aabbccddeeff"
		plain = `
plan: {overrides: "user:{jwt.sub}"}
rules: [{name: own-hashed, key: "{jwt.sub}", overrides: true, limits: [{capacity: 9, window: 60s}]}]
`
		bare = `
hash_secret: {env: KEYS, check: c4bbcb1f}
rules:
  - {name: new, hash: true, key: "{jwt.sub}", overrides: true, limits: [{capacity: 9, window: 60s}]}
  - {name: own-hashed, hash: true, key: "{jwt.sub}", limits: [{capacity: 9, window: 60s}]}
`
	)
	other := strings.Replace(hashing, "c4bbcb1f", "603f49c6", 1)
	moved := strings.Replace(hashing, "env: KEYS", "env: OTHER", 1)
	for what, tt := range map[string]struct {
		from, to, rule, key string
		want                bool
	}{
		"another secret, own keys":        {hashing, other, "own-hashed", hash, true},
		"another secret, other keys":      {hashing, other, "api-hashed", hash, true},
		"another secret, plans":           {hashing, other, PlanOverrides, hash, true},
		"another secret and variable":     {moved, other, "own-hashed", hash, true},
		"another variable, same secret":   {hashing, moved, "own-hashed", hash, false},
		"other keys, same secret":         {hashing, strings.Replace(hashing, `{name: own-hashed, hash: true, key: "{jwt.sub}"`, `{name: own-hashed, hash: true, key: "mail:{jwt.mail}"`, 1), "own-hashed", hash, true},
		"another claim, the same texts":   {hashing, strings.Replace(hashing, `{name: own-hashed, hash: true, key: "{jwt.sub}"`, `{name: own-hashed, hash: true, key: "{jwt.mail}"`, 1), "own-hashed", hash, false},
		"the same":                        {hashing, hashing, "own-hashed", hash, false},
		"a key that was not hashed":       {hashing, other, "own-hashed", "ann", false}, // which does not fit for itself
		"keys that never were hashed":     {hashing, other, "own", hash, false},
		"hashed no more":                  {hashing, plain, "own-hashed", hash, false},
		"hashed from now on":              {plain, other, "own-hashed", hash, false},
		"plans that are hashed no more":   {hashing, plain, PlanOverrides, hash, false},
		"plans that have none any more":   {other, bare, PlanOverrides, hash, false},
		"a rule that has none any more":   {other, bare, "own-hashed", hash, false},
		"a new rule, beside hashed plans": {other, bare, "new", hash, false},
		"a rule that is gone":             {bare, other, "new", hash, false},
		"no rule":                         {hashing, other, "none", hash, false},
	} {
		if got := parse(t, tt.to).Rehashed(parse(t, tt.from), tt.rule, tt.key); got != tt.want {
			t.Errorf("%s: %v, want %v", what, got, tt.want)
		}
	}
}

// A diff names the rules whose stored overrides another secret makes unreachable.
func TestRehashedRulesChange(t *testing.T) {
	changed := map[string]bool{}
	for _, c := range changes(parse(t, hashing), parse(t, strings.Replace(hashing, "c4bbcb1f", "603f49c6", 1))) {
		changed[c.Rule] = true
		if c.Rule == "" {
			changed[c.Field] = true
		}
	}
	for name, want := range map[string]bool{
		"plan.overrides": true, "api-hashed": true, "own-hashed": true, "hash_secret": true, "api": false, "own": false,
	} {
		if changed[name] != want {
			t.Errorf("%s has changed: %v, want %v", name, changed[name], want)
		}
	}
}

func TestCollides(t *testing.T) {
	const secret = "hash_secret: {env: %, check: ~}\nrules: [{name: r, hash: true, key: '{ip}', limits: [{capacity: 9, window: 60s}]}]"
	hashedBy := func(env, check string) *Set {
		return parse(t, strings.NewReplacer("%", env, "~", check).Replace(secret))
	}
	none := parse(t, "rules: []")
	for what, tt := range map[string]struct {
		a, b *Set
		want bool
	}{
		"two secrets in one variable":  {hashedBy("KEYS", "c4bbcb1f"), hashedBy("KEYS", "603f49c6"), true},
		"two secrets in two variables": {hashedBy("KEYS", "c4bbcb1f"), hashedBy("NEXT", "603f49c6"), false},
		"one secret in one variable":   {hashedBy("KEYS", "c4bbcb1f"), hashedBy("KEYS", "c4bbcb1f"), false},
		"one secret in two variables":  {hashedBy("KEYS", "c4bbcb1f"), hashedBy("NEXT", "c4bbcb1f"), false},
		"one secret and none":          {hashedBy("KEYS", "c4bbcb1f"), none, false},
		"none":                         {none, none, false},
	} {
		if tt.a.Collides(tt.b) != tt.want || tt.b.Collides(tt.a) != tt.want {
			t.Errorf("%s: want %v", what, tt.want)
		}
	}
}

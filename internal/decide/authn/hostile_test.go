package authn_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/decide/authn"
	"github.com/slidegate/slidegate/internal/request"
)

// TestDates: times are seconds since 1970, in any form of a JSON number. Those
// that no clock can reach make a token invalid, instead of wrapping around.
func TestDates(t *testing.T) {
	p := newProvider(t, published("k", rsaKey))
	a := authn.New(of(t, p, ""), nil, nil, quiet)
	soon := now.Unix() + 60
	for _, test := range []struct {
		dates string
		known bool
	}{
		{fmt.Sprintf(`"exp":%d.5`, soon), true},
		{`"exp":1.7922316e9`, true},
		{`"exp":253402300799`, true},
		{`"exp":253402300800`, false},
		{`"exp":9223372036854775807`, false},
		{`"exp":1e19`, false},
		{`"exp":1e400`, false},
		{`"exp":0`, false},
		{`"exp":-1`, false},
		{`"exp":null`, false},
		{fmt.Sprintf(`"exp":%d,"nbf":%d`, soon, now.Unix()), true},
		{fmt.Sprintf(`"exp":%d,"nbf":0`, soon), true},
		{fmt.Sprintf(`"exp":%d,"nbf":-1`, soon), true},
		{fmt.Sprintf(`"exp":%d,"nbf":%d.5`, soon, now.Unix()+31), false},
		{fmt.Sprintf(`"exp":%d,"nbf":9223372036854775807`, soon), false},
		{fmt.Sprintf(`"exp":%d,"nbf":null`, soon), false},
		{fmt.Sprintf(`"exp":%d,"nbf":"1"`, soon), false},
		{fmt.Sprintf(`"exp":%d,"iat":%d`, soon, now.Unix()+3600), true}, // RFC 7519 asks nothing of it
	} {
		r := ask(t, a, now, signRaw(t, `{"alg":"RS256","kid":"k"}`, fmt.Sprintf(`{"iss":%q,"aud":"api",%s}`, p.URL, test.dates)))
		if known := r.Caller() == request.Known; known != test.known {
			t.Errorf("%s: caller is %s", test.dates, r.Caller())
		}
	}
}

// TestIssuers: each issuer's keys verify its own tokens alone, though both name
// their keys alike.
func TestIssuers(t *testing.T) {
	one, two := newProvider(t, published("k", rsaKey)), newProvider(t, published("k", otherKey))
	a := authn.New(fixed(load(t, fmt.Sprintf(
		"authentication: {jwt: [{issuer: %q, audience: api}, {issuer: %q, audience: [api, other]}]}\nrules: []", one.URL, two.URL))), nil, nil, quiet)
	for _, test := range []struct {
		name, token, want string
	}{
		{"of the first", sign(t, rs256, rsaKey, claims(one.URL)), request.Known},
		{"of the second", sign(t, rs256, otherKey, claims(two.URL)), request.Known},
		{"by the second's key", sign(t, rs256, otherKey, claims(one.URL)), request.Rejected},
		{"for the second's audience", sign(t, rs256, rsaKey, claims(one.URL, with("aud", "other"))), request.Rejected},
		{"for both audiences", sign(t, rs256, otherKey, claims(two.URL, with("aud", []any{"x", "other"}))), request.Known},
		{"for audiences of several types", sign(t, rs256, rsaKey, claims(one.URL, with("aud", []any{"api", 7}))), request.Rejected},
		{"for a part of an audience", sign(t, rs256, rsaKey, claims(one.URL, with("aud", "ap"))), request.Rejected},
		{"for null", signRaw(t, `{"alg":"RS256","kid":"k"}`, fmt.Sprintf(`{"iss":%q,"aud":null,"client_id":"api","exp":%d}`, one.URL, now.Unix()+60)), request.Rejected},
	} {
		if r := ask(t, a, now, test.token); r.Caller() != test.want {
			t.Errorf("a token %s: caller is %s, want %s", test.name, r.Caller(), test.want)
		}
	}
}

// TestPublishedKeys: which keys of an issuer verify a token signed with rsaKey or
// ecKey. Other keys stay usable beside one that is not.
func TestPublishedKeys(t *testing.T) {
	ec := published("k", ecKey)
	with := func(of map[string]any, more ...any) map[string]any {
		changed := maps.Clone(of)
		for i := 0; i < len(more); i += 2 {
			changed[more[i].(string)] = more[i+1]
		}
		return changed
	}
	plain := published("k", rsaKey)
	for name, test := range map[string]struct {
		key  map[string]any
		want string
	}{
		"as it is":                       {plain, request.Known},
		"without use":                    {with(plain, "use", ""), request.Known},
		"to verify":                      {with(plain, "key_ops", []string{"verify"}), request.Known},
		"to encrypt":                     {with(plain, "use", "enc"), request.Rejected},
		"to wrap keys":                   {with(plain, "key_ops", []string{"wrapKey"}), request.Rejected},
		"for nothing":                    {with(plain, "key_ops", []string{}), request.Rejected},
		"for its algorithm":              {with(plain, "alg", "RS256"), request.Known},
		"for another algorithm":          {with(plain, "alg", "RS512"), request.Rejected},
		"of another type":                {with(plain, "kty", "EC"), request.Rejected},
		"with an exponent of 1":          {with(plain, "e", "AQ"), request.Rejected},
		"with an even exponent":          {with(plain, "e", "BA"), request.Rejected},
		"with a huge exponent":           {with(plain, "e", strings.Repeat("_", 400)), request.Rejected},
		"with a huge modulus":            {with(plain, "n", strings.Repeat("_", 4000)), request.Rejected},
		"without a modulus":              {with(plain, "n", ""), request.Rejected},
		"with padding":                   {with(plain, "n", plain["n"].(string)+"=="), request.Rejected},
		"with numbers for texts":         {with(plain, "n", 7), request.Rejected},
		"on its curve":                   {ec, request.Known},
		"on another curve":               {with(ec, "crv", "P-384"), request.Rejected},
		"off the curve":                  {with(ec, "y", ec["x"]), request.Rejected},
		"at infinity":                    {with(ec, "x", encode(make([]byte, 32)), "y", encode(make([]byte, 32))), request.Rejected},
		"with coordinates that are long": {with(ec, "x", encode(make([]byte, 33)), "y", encode(make([]byte, 33))), request.Rejected},
		"with one coordinate":            {with(ec, "y", ""), request.Rejected},
	} {
		p := newProvider(t, test.key, published("other", otherKey))
		token := sign(t, rs256, rsaKey, claims(p.URL))
		if test.key["crv"] != nil {
			token = sign(t, jwtES256, ecKey, claims(p.URL))
		}
		a := authn.New(of(t, p, ""), nil, nil, quiet)
		if r := ask(t, a, now, token); r.Caller() != test.want {
			t.Errorf("a key %s: caller is %s, want %s", name, r.Caller(), test.want)
		}
		if r := ask(t, a, now, sign(t, rs256, otherKey, claims(p.URL), "kid", "other")); r.Caller() != request.Known {
			t.Errorf("beside a key %s: caller is %s", name, r.Caller())
		}
	}
}

// TestSameKeyIDs: an issuer may publish several keys with one id, also of several
// types. Each verifies the tokens that it has signed.
func TestSameKeyIDs(t *testing.T) {
	p := newProvider(t, published("k", rsaKey), published("k", otherKey), published("k", ecKey))
	a := authn.New(of(t, p, ""), nil, nil, quiet)
	for _, token := range []string{
		sign(t, rs256, rsaKey, claims(p.URL)), sign(t, rs256, otherKey, claims(p.URL)), sign(t, jwtES256, ecKey, claims(p.URL)),
	} {
		if r := ask(t, a, now, token); r.Caller() != request.Known {
			t.Errorf("caller is %s", r.Caller())
		}
	}
	if r := ask(t, a, now, sign(t, rs256, newRSA(1024), claims(p.URL))); r.Caller() != request.Rejected {
		t.Errorf("by a fourth key: caller is %s", r.Caller())
	}
}

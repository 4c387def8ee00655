package rules

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/slidegate/slidegate/internal/request"
)

// The gateway's peer is 192.0.2.1, the client is 203.0.113.9, and a client makes
// up 198.51.100.66.
func TestLocate(t *testing.T) {
	const client, peer, forged = "203.0.113.9", "192.0.2.1", "198.51.100.66"
	hops := func(n int) request.ClientAddress { return request.ClientAddress{Hops: n} }
	cloud := request.ClientAddress{Header: "cf-connecting-ip", SecretHeader: "x-origin", SecretEnv: "SECRET", Secret: "s3cret"}
	for _, test := range []struct {
		name    string
		address request.ClientAddress
		headers map[string][]string
		want    string
	}{
		{"no proxy: headers do not count", hops(0), map[string][]string{"X-Forwarded-For": {forged}}, peer},
		{"one proxy", hops(1), map[string][]string{"X-Forwarded-For": {client}}, client},
		{"one proxy, and the gateway adds its peer", hops(1), map[string][]string{"X-Forwarded-For": {client + ", " + peer}}, client},
		{"the first entry is the client's own, and does not count", hops(1), map[string][]string{"X-Forwarded-For": {forged + ", " + client}}, client},
		{"in several fields", hops(1), map[string][]string{"X-Forwarded-For": {forged, client, peer}}, client},
		{"two proxies", hops(2), map[string][]string{"X-Forwarded-For": {forged + "," + client + ", 10.0.0.1, " + peer}}, client},
		{"fewer entries than proxies", hops(2), map[string][]string{"X-Forwarded-For": {client}}, peer},
		{"nothing sent", hops(1), nil, peer},
		{"no address", hops(1), map[string][]string{"X-Forwarded-For": {"unknown"}}, peer},
		{"an IPv4-mapped IPv6 address", hops(1), map[string][]string{"X-Forwarded-For": {"::ffff:" + client}}, client},
		{"a header and its secret", cloud, map[string][]string{"CF-Connecting-IP": {client}, "X-Origin": {"s3cret"}}, client},
		{"a header without the secret", cloud, map[string][]string{"CF-Connecting-IP": {forged}}, peer},
		{"a header with another secret", cloud, map[string][]string{"CF-Connecting-IP": {forged}, "X-Origin": {"guess"}}, peer},
		{"a secret sent twice", cloud, map[string][]string{"CF-Connecting-IP": {forged}, "X-Origin": {"guess", "s3cret"}}, peer},
		{"a header sent twice", cloud, map[string][]string{"CF-Connecting-IP": {forged, client}, "X-Origin": {"s3cret"}}, peer},
		{"a header that is no address", cloud, map[string][]string{"CF-Connecting-IP": {"me"}, "X-Origin": {"s3cret"}}, peer},
		{"without a loaded secret, an empty one does not count", request.ClientAddress{Header: "cf-connecting-ip", SecretHeader: "x-origin", SecretEnv: "SECRET"},
			map[string][]string{"CF-Connecting-IP": {forged}, "X-Origin": {""}}, peer},
	} {
		r := &request.Request{IP: netip.MustParseAddr(peer), Headers: test.headers}
		(&Set{address: test.address}).Locate(r)
		if r.IP.String() != test.want {
			t.Errorf("%s: %v, want %s", test.name, r.IP, test.want)
		}
	}
}

func TestLoadSecrets(t *testing.T) {
	environment := map[string]string{"SECRET": "s3cret", "EMPTY": ""}
	lookup := func(name string) (string, bool) { v, ok := environment[name]; return v, ok }
	for env, missing := range map[string]bool{"": false, "SECRET": false, "EMPTY": true, "OTHER": true} {
		s := &Set{address: request.ClientAddress{SecretEnv: env}}
		if err := s.LoadSecrets(lookup); errors.Is(err, ErrMissingSecret) != missing {
			t.Errorf("%q: error %v", env, err)
		}
	}
}

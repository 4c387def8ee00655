package rules

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/slidegate/slidegate/internal/request"
)

// TestLocate reads the client's address behind proxies. 192.0.2.1 is the gateway's peer, 203.0.113.9 the client, and
// 198.51.100.66 what a client makes up.
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
		{"no proxy: nothing that is sent counts", hops(0), map[string][]string{"X-Forwarded-For": {forged}}, peer},
		{"one proxy", hops(1), map[string][]string{"X-Forwarded-For": {client}}, client},
		{"one proxy, and the gateway adds its peer", hops(1), map[string][]string{"X-Forwarded-For": {client + ", " + peer}}, client},
		{"what the client sent itself comes first, and does not count", hops(1), map[string][]string{"X-Forwarded-For": {forged + ", " + client}}, client},
		{"in several fields", hops(1), map[string][]string{"X-Forwarded-For": {forged, client, peer}}, client},
		{"two proxies", hops(2), map[string][]string{"X-Forwarded-For": {forged + "," + client + ", 10.0.0.1, " + peer}}, client},
		{"fewer than said: not by way of them", hops(2), map[string][]string{"X-Forwarded-For": {client}}, peer},
		{"nothing sent", hops(1), nil, peer},
		{"no address", hops(1), map[string][]string{"X-Forwarded-For": {"unknown"}}, peer},
		{"IPv6, in IPv4's clothes", hops(1), map[string][]string{"X-Forwarded-For": {"::ffff:" + client}}, client},
		{"a header and its secret", cloud, map[string][]string{"CF-Connecting-IP": {client}, "X-Origin": {"s3cret"}}, client},
		{"a header without the secret", cloud, map[string][]string{"CF-Connecting-IP": {forged}}, peer},
		{"a header with another secret", cloud, map[string][]string{"CF-Connecting-IP": {forged}, "X-Origin": {"guess"}}, peer},
		{"a secret sent twice", cloud, map[string][]string{"CF-Connecting-IP": {forged}, "X-Origin": {"guess", "s3cret"}}, peer},
		{"a header sent twice", cloud, map[string][]string{"CF-Connecting-IP": {forged, client}, "X-Origin": {"s3cret"}}, peer},
		{"a header that is no address", cloud, map[string][]string{"CF-Connecting-IP": {"me"}, "X-Origin": {"s3cret"}}, peer},
		{"never unlocked: an empty secret opens nothing", request.ClientAddress{Header: "cf-connecting-ip", SecretHeader: "x-origin", SecretEnv: "SECRET"},
			map[string][]string{"CF-Connecting-IP": {forged}, "X-Origin": {""}}, peer},
	} {
		r := &request.Request{IP: netip.MustParseAddr(peer), Headers: test.headers}
		(&Set{address: test.address}).Locate(r)
		if r.IP.String() != test.want {
			t.Errorf("%s: %v, want %s", test.name, r.IP, test.want)
		}
	}
}

func TestUnlock(t *testing.T) {
	environment := map[string]string{"SECRET": "s3cret", "EMPTY": ""}
	lookup := func(name string) (string, bool) { v, ok := environment[name]; return v, ok }
	for env, missing := range map[string]bool{"": false, "SECRET": false, "EMPTY": true, "OTHER": true} {
		s := &Set{address: request.ClientAddress{SecretEnv: env}}
		if err := s.LoadSecrets(lookup); errors.Is(err, ErrMissingSecret) != missing {
			t.Errorf("%q: error %v", env, err)
		}
	}
}

package rules

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/request"
)

// The gateway's peer is 192.0.2.1, the client is 203.0.113.9, and a client makes
// up 198.51.100.66.
func TestLocate(t *testing.T) {
	const client, peer, forged = "203.0.113.9", "192.0.2.1", "198.51.100.66"
	hops := func(n int) request.ClientAddress { return request.ClientAddress{Hops: n} }
	forwarded := func(n int) request.ClientAddress {
		return request.ClientAddress{Hops: n, Header: request.Forwarded}
	}
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
		{"with a port", hops(1), map[string][]string{"X-Forwarded-For": {forged + ", " + client + ":50001, " + peer + ":443"}}, client},
		{"Forwarded does not count unasked", hops(1), map[string][]string{"Forwarded": {"for=" + forged}}, peer},
		{"Forwarded", forwarded(1), map[string][]string{"Forwarded": {"for=" + forged + ", For=" + client + ";proto=https;by=10.0.0.1"}, "X-Forwarded-For": {forged}}, client},
		{"Forwarded, in several fields, and the gateway adds its peer", forwarded(1), map[string][]string{"Forwarded": {"for=" + forged, `proto=http; for="` + client + `:4711"`, "for=" + peer}}, client},
		{"Forwarded by two proxies", forwarded(2), map[string][]string{"Forwarded": {"for=" + forged + ",for=" + client + ",for=10.0.0.1"}}, client},
		{"a comma in what a client sends", forwarded(1), map[string][]string{"Forwarded": {`for=` + client + `;host="a\", for=` + forged + `;x=\""`}}, client},
		{"a quote that a client leaves open", forwarded(1), map[string][]string{"Forwarded": {`for="` + forged + `, for="` + client + `:4711"`}}, client},
		{"an obfuscated client", forwarded(1), map[string][]string{"Forwarded": {"for=_hidden"}}, peer},
		{"an element without a client", forwarded(1), map[string][]string{"Forwarded": {"for=" + forged + ", by=10.0.0.1"}}, peer},
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

// CloudFront's facts of a client count with its secret alone.
func TestLocateByCloudFront(t *testing.T) {
	const peer = "192.0.2.1"
	cloud := request.ClientAddress{Header: request.CloudFrontAddress, SecretHeader: "x-origin", SecretEnv: "SECRET", Secret: "s3cret"}
	other := cloud
	other.Header = "cf-connecting-ip"
	for _, test := range []struct {
		name            string
		address         request.ClientAddress
		viewer          []string // addresses
		secret, country string
		ip, wantCountry string
		asn             []string
		wantASN         string
	}{
		{"with the secret", cloud, []string{"203.0.113.9:46532"}, "s3cret", "DE", "203.0.113.9", "DE", []string{"64496"}, "64496"},
		{"IPv6 without brackets", cloud, []string{"2001:db8::1:46532"}, "s3cret", "DE", "2001:db8::1", "DE", nil, ""},
		{"IPv6 in brackets", cloud, []string{"[2001:db8::1]:46532"}, "s3cret", "", "2001:db8::1", "", []string{"64496"}, "64496"},
		{"without the secret", cloud, []string{"198.51.100.66:1"}, "", "DE", peer, "", []string{"64496"}, ""},
		{"with another secret", cloud, []string{"198.51.100.66:1"}, "guess", "DE", peer, "", []string{"64496"}, ""},
		{"repeated", cloud, []string{"203.0.113.9:1", "203.0.113.9:2"}, "s3cret", "DE", peer, "DE", []string{"64496", "64497"}, ""},
		{"without a port", cloud, []string{"203.0.113.9"}, "s3cret", "DE", peer, "DE", nil, ""},
		{"another proxy", other, nil, "s3cret", "DE", peer, "", []string{"64496"}, ""},
		{"no proxy", request.ClientAddress{}, nil, "s3cret", "DE", peer, "", []string{"64496"}, ""},
	} {
		r := &request.Request{IP: netip.MustParseAddr(peer), Headers: map[string][]string{
			"CloudFront-Viewer-Address": test.viewer, "CloudFront-Viewer-Country": {test.country}, "CloudFront-Viewer-ASN": test.asn, "X-Origin": {test.secret},
		}}
		(&Set{address: test.address}).Locate(r)
		if r.IP.String() != test.ip || r.Country != test.wantCountry || r.ASN != test.wantASN {
			t.Errorf("%s: %v, country %q, network %q", test.name, r.IP, r.Country, r.ASN)
		}
	}
}

const cloudFront = "client_ip: {header: CloudFront-Viewer-Address, secret: {header: x-origin, env: SECRET}}\n"

// TestViewer: keys and match use CloudFront's facts. A request without them has
// neither.
func TestViewer(t *testing.T) {
	set := parse(t, cloudFront+`rules:
  - {name: networks, key: "net:{country}|{asn}", overrides: true, limit: 5/minute}
  - {name: some, when: {match: {country: [NO, DE], asn: 64496}}, key: all, limit: 5/minute}
  - {name: others, unless: {match: {country: DE}}, key: all, limit: 5/minute}
overrides: {networks: {"net:DE|64496": {unlimited: true}}}
`)
	if err := set.LoadSecrets(func(string) (string, bool) { return "s3cret", true }); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ secret, country, asn, key, rules string }{
		{"s3cret", "DE", "64496", "net:DE|64496", "networks some"},
		{"s3cret", "NO", "64496", "net:NO|64496", "networks some others"},
		{"s3cret", "NO", "64497", "net:NO|64497", "networks others"},
		{"s3cret", "", "", "net:-|-", "networks others"},
		{"guess", "DE", "64496", "net:-|-", "networks others"},
	} {
		r := &request.Request{Method: "GET", Path: "/", Headers: map[string][]string{
			"cloudfront-viewer-country": {test.country}, "cloudfront-viewer-asn": {test.asn}, "x-origin": {test.secret},
		}}
		set.Locate(r)
		var names []string
		for _, rule := range set.Match(nil, r) {
			names = append(names, rule.Name)
		}
		if got := strings.Join(names, " "); got != test.rules {
			t.Errorf("%+v: rules %s", test, got)
		}
		if got := string(set.Rules[0].AppendKey(nil, r)); got != test.key {
			t.Errorf("%+v: key %s", test, got)
		}
	}
}

func TestViewerErrors(t *testing.T) {
	const untrusted = " is what CloudFront says of the client, and client_ip does not trust CloudFront: write client_ip: " +
		"{header: cloudfront-viewer-address, secret: {header: x-origin-secret, env: ORIGIN_SECRET}}"
	const rules = "rules: [{name: r, key: all, limit: 5/minute}]\n"
	for _, tt := range []struct{ document, want string }{
		{"rules: [{name: r, key: 'c:{country}', limit: 5/minute}]", "rules[0].key: country" + untrusted},
		{"client_ip: {trusted_hops: 1}\nrules: [{name: r, key: 'n:{asn}', limit: 5/minute}]", "rules[0].key: asn" + untrusted},
		{"client_ip: {header: cf-connecting-ip, secret: {header: x, env: E}}\nrules: [{name: r, key: all, overrides: '{country}', limit: 5/minute}]",
			"rules[0].overrides: country" + untrusted},
		{"deny: [{match: {country: DE}}]\n" + rules, "deny[0].match.country: country" + untrusted},
		{cloudFront + "deny: [{match: {country: de}}]\n" + rules, `deny[0].match.country: "de" is no country: write two capital letters (ISO 3166-1), such as DE`},
		{cloudFront + "skip: [{match: {asn: [64496, AS64497]}}]\n" + rules,
			`skip[0].match.asn[1]: "AS64497" is no autonomous system: write its number alone, such as 64496`},
		{cloudFront + "plan: {from: country}\nplans: {DE: {r: 5}}\n" + rules,
			"plan.from: country does not tell callers apart: use a claim such as jwt.plan, apikey or stage"},
		{cloudFront + "rules: [{name: r, key: all, cost: {from: asn, max: 5}, limit: 5/minute}]",
			"rules[0].cost.from: asn states no number: write a header, a parameter or a claim, such as header.x-tokens"},
	} {
		_, err := read(t, "f", tt.document)
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.HasSuffix(err.Error(), ": "+tt.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.document, err, tt.want)
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

package rules

import (
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/request"
)

func TestCompileAddress(t *testing.T) {
	for _, tt := range []struct {
		fields string
		want   request.ClientAddress
	}{
		{"{trusted_hops: 0}", request.ClientAddress{}},
		{"{trusted_hops: 32}", request.ClientAddress{Hops: 32}},
		{"{header: CF-Connecting-IP, secret: {header: X-Origin, env: ORIGIN_SECRET}}",
			request.ClientAddress{Header: "cf-connecting-ip", SecretHeader: "x-origin", SecretEnv: "ORIGIN_SECRET"}},
	} {
		if got := parse(t, "{rules: [], client_ip: "+tt.fields+"}").address; got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.fields, got, tt.want)
		}
	}
	for _, tt := range []struct{ fields, want string }{
		{"{}", ": is empty: write trusted_hops: N, or header and secret, or remove it"},
		{"1", `: must be a map with fields such as "trusted_hops:", and is a number`},
		{"{trusted_hops: 33}", ".trusted_hops: 33 is out of range: write a number from 0 to 32"},
		{"{header: x-real-ip}", ".header: any client could send it: write a secret that your proxy alone knows, such as secret: {header: x-origin-secret, env: ORIGIN_SECRET}"},
		{"{secret: {header: x, env: E}}", ".secret: is of no use alone: write header: NAME, the header that holds the client's address"},
		{"{trusted_hops: 1, secret: {header: x, env: E}}", ".secret: is of no use alone: write header: NAME, the header that holds the client's address"},
		{"{trusted_hops: 1, header: x, secret: {header: y, env: E}}", ".header: stands beside trusted_hops, and an address is read in one place: remove one of them"},
		{"{header: X-Forwarded-For, secret: {header: y, env: E}}", ".header: x-forwarded-for lists every hop: write trusted_hops: 1 in place of header and secret"},
		{"{header: forwarded, secret: {header: y, env: E}}", ".header: forwarded lists every hop: write trusted_hops: 1 in place of header and secret"},
		{"{header: x, secret: {header: X, env: E}}", ".secret: is the header of the address itself: write another for the secret"},
		{"{header: x, secret: {env: E}}", ".secret: header is missing: write the header that carries the secret, such as header: x-origin-secret"},
		{"{header: x, secret: {header: y}}", ".secret: env is missing: write the environment variable that holds the secret, such as env: ORIGIN_SECRET"},
		{"{header: x, secret: s3cret}", `.secret: must be a map with fields such as "header:", and is text`},
		{"{header: x, secret: {header: y, env: 9A}}", `.secret.env: "9A" is no environment variable: write a name such as ORIGIN_SECRET`},
	} {
		_, err := read(t, "f", "{rules: [], client_ip: "+tt.fields+"}")
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.HasSuffix(err.Error(), ": client_ip"+tt.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.fields, err, tt.want)
		}
	}
}

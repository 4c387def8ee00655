package rules

import (
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
		{"{trusted_hops: 2, header: Forwarded}", request.ClientAddress{Hops: 2, Header: request.Forwarded}},
		{"{header: CF-Connecting-IP, secret: {header: X-Origin, env: ORIGIN_SECRET}}",
			request.ClientAddress{Header: "cf-connecting-ip", SecretHeader: "x-origin", SecretEnv: "ORIGIN_SECRET"}},
	} {
		if got := parse(t, "{rules: [], client_ip: "+tt.fields+"}").address; got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.fields, got, tt.want)
		}
	}
}

package logs

import (
	"testing"

	"github.com/slidegate/slidegate/internal/request"
)

// An address that the server of the log has taken from X-Forwarded-For is final:
// client_ip does not count back from it to what the client claims. Otherwise
// client_ip reads the header, as serve would in that server's place.
func TestClientAddress(t *testing.T) {
	const client, claimed = "203.0.113.9", "198.51.100.1" // claimed is what the client writes into the header
	for _, tc := range []struct {
		name, line string
		none, one  string // the client by rules with trusted_hops 0 and 1
	}{
		{"CloudFront", `{"timestamp":"1","cs-uri-stem":"/","c-ip":"203.0.113.9","x-forwarded-for":"198.51.100.1"}`, client, client},
		{"Caddy, the proxy before it trusted", `{"ts":1,"request":{"uri":"/","remote_ip":"10.0.0.5","client_ip":"203.0.113.9","headers":{"X-Forwarded-For":["198.51.100.1, 203.0.113.9"]}}}`, client, client},
		{"Caddy, the proxy before it unknown", `{"ts":1,"request":{"uri":"/","remote_ip":"10.0.0.5","client_ip":"10.0.0.5","headers":{"X-Forwarded-For":["198.51.100.1, 203.0.113.9"]}}}`, "10.0.0.5", client},
		{"Traefik, the proxy before it trusted", `{"StartUTC":"2021-06-05T04:03:22Z","RequestPath":"/","ClientAddr":"10.0.0.5:1","ClientHost":"198.51.100.1, 203.0.113.9","request_X-Forwarded-For":"198.51.100.1, 203.0.113.9"}`, client, client},
		{"Traefik, no proxy before it", `{"StartUTC":"2021-06-05T04:03:22Z","RequestPath":"/","ClientAddr":"203.0.113.9:1","ClientHost":"203.0.113.9"}`, client, client},
		{"Envoy, the proxy before it trusted", `{"start_time":"2021-06-05T04:03:22Z","path":"/","downstream_remote_address":"203.0.113.9:0","x_forwarded_for":"198.51.100.1,203.0.113.9,10.0.0.5"}`, client, client},
		{"Envoy, the proxy before it unknown", `{"start_time":"2021-06-05T04:03:22Z","path":"/","downstream_remote_address":"10.0.0.5:1","x_forwarded_for":"198.51.100.1,203.0.113.9,10.0.0.5"}`, "10.0.0.5", client},
		{"Envoy, no proxy before it", `{"start_time":"2021-06-05T04:03:22Z","path":"/","downstream_remote_address":"203.0.113.9:1","x_forwarded_for":"203.0.113.9"}`, client, client},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for hops, want := range []string{tc.none, tc.one} {
				e, err := parseLine((&Log{}).parser(nil), tc.line)
				if err != nil {
					t.Fatal(err)
				}
				(&request.ClientAddress{Hops: hops}).Locate(e.Request)
				if got := e.Request.Addr().String(); got != want || got == claimed {
					t.Errorf("%d hops: client %s, want %s", hops, got, want)
				}
			}
		})
	}
}

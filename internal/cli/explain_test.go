package cli

import (
	"testing"
)

func TestExplain(t *testing.T) {
	t.Setenv("ORIGIN_SECRET", "")
	business := " --at 2026-11-22T10:00:00Z --rules testdata/business.yaml"
	golden(t, "explain", transcript(t.Context(), "",
		"explain POST /login --ip 203.0.113.9 --at 2026-11-22T10:00:00Z --rules testdata/rules.yaml",
		"explain GET /health --rules testdata/rules.yaml",
		"explain GET /health/ --ip 2001:db8::1 --rules testdata/rules.yaml",
		"explain POST '/v1/chat?debug=1' --ip 10.0.0.1 -H 'X-Forwarded-For: 203.0.113.9' -H 'X-Tokens: 900' --claim sub=241531 --claim plan=pro --claim tenant=acme"+business,
		"explain POST '/v1/chat?debug=1' --ip 10.0.0.1 -H 'X-Forwarded-For: 203.0.113.9' -H 'X-Tokens: 900' --claim sub=241531 --claim plan=pro --claim tenant=acme --json"+business,
		"explain POST /v1/chat --claims '{\"sub\": \"auth0|666\", \"tenant\": \"slow\", \"plan\": [\"pro\"]}'"+business,
		"explain GET /v1/export --claim sub=777 --claim tenant=t --claim billing_day=15"+business,
		"explain GET /v1/export --claim sub=777 --at 2027-01-01T00:00:00Z --rules testdata/business.yaml",
		"explain GET /v1/Hooks/x --claim tenant=probe"+business,
		"explain GET /v1/search --route '/v1/{partner}' --apikey k-17 --claim plan=gold"+business,
		"explain GET /v2 --claim sub=778"+business,
		"explain GET /v2 --rejected"+business,
		"explain GET /v2 --rejected --json"+business,
		"explain GET /v2 --ip 10.0.0.1 -H x-forwarded-for:198.51.100.7"+business,
		"explain GET /%1b%5b31m -H 'x: y' --claim sub=1"+business,
		"explain GET /%C3%A9%c2%9b31m -H 'x: y' --claim sub=1"+business,
		"explain POST /v1/chat --claim sub=1 --claim tenant=t --rules testdata/costly.yaml",
		"explain GET / --rules testdata/secret.yaml",
	))
}

package request

import "testing"

func TestIsPreflight(t *testing.T) {
	const origin, method = "https://app.example", "PUT"
	for _, tt := range []struct {
		name, method string
		headers      map[string][]string
		want         bool
	}{
		{"a preflight", "OPTIONS", map[string][]string{"Origin": {origin}, "Access-Control-Request-Method": {method}}, true},
		{"of no bytes", "OPTIONS", map[string][]string{"origin": {origin}, "access-control-request-method": {method}, "content-length": {"0"}}, true},
		{"another method", "GET", map[string][]string{"origin": {origin}, "access-control-request-method": {method}}, false},
		{"no origin", "OPTIONS", map[string][]string{"access-control-request-method": {method}}, false},
		{"an empty method", "OPTIONS", map[string][]string{"origin": {origin}, "access-control-request-method": {""}}, false},
		{"a blank method", "OPTIONS", map[string][]string{"origin": {origin}, "access-control-request-method": {" \t"}}, false}, // net/http drops blanks
		{"a blank origin", "OPTIONS", map[string][]string{"origin": {" "}, "access-control-request-method": {method}}, false},
		{"a body", "OPTIONS", map[string][]string{"origin": {origin}, "access-control-request-method": {method}, "content-length": {"5"}}, false},
	} {
		if got := (&Request{Method: tt.method, Headers: tt.headers}).IsPreflight(); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
}

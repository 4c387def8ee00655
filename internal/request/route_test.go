package request

import "testing"

func TestRouteTemplate(t *testing.T) {
	for _, tt := range []struct{ route, want string }{
		{"", ""},
		{"$default", ""},
		{"/{proxy+}", ""},
		{"/v1/{proxy+}", ""},
		{"/", "/"},
		{"/v1/items/{id}", "/v1/items/{id}"},
		{"GET /v1/items/{id}", "/v1/items/{id}"},
		{"$connect", "$connect"},
		{"send message", "send message"}, // a WebSocket route is any text
	} {
		if got := routeTemplate(tt.route); got != tt.want {
			t.Errorf("routeTemplate(%q) = %q, want %q", tt.route, got, tt.want)
		}
	}
}

//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// httpAPI uses up a limit. The backend gets the context of payload version 2.0,
// and the gateway has one answer to denials.
func (d *deployment) httpAPI(t *testing.T, user string) {
	for i := range 3 {
		got := send(t, http.MethodGet, d.http+"/v1/items/1", user)
		if got.status != http.StatusOK {
			t.Fatalf("request %d is answered %d, want 200", i, got.status)
		}
		context, _ := got.echo.Authorizer["lambda"].(map[string]any)
		if context["allowed"] != "true" || context["rule"] != "per-user" || context["remaining"] != fmt.Sprint(2-i) {
			t.Errorf("request %d has the context %v", i, got.echo.Authorizer)
		}
	}
	if got := send(t, http.MethodGet, d.http+"/v1/items/2", user); got.status != http.StatusForbidden {
		t.Errorf("the request over the limit is answered %d, want 403", got.status)
	}
	d.counted(t, user, 3)
}

// tokenAPI uses up a limit. The event has no route, so the key ends in the
// pattern that the path matches.
func (d *deployment) tokenAPI(t *testing.T, user string) {
	for i, want := range []int{200, 200, 200, 429} {
		got := send(t, http.MethodGet, fmt.Sprint(d.token, "/v1/items/", i), user)
		if got.status != want {
			t.Fatalf("request %d is answered %d, want %d", i, got.status, want)
		}
		if want == 200 && got.echo.Authorizer["rule"] != "per-user" {
			t.Errorf("request %d has the context %v", i, got.echo.Authorizer)
		}
	}
	if got := send(t, http.MethodGet, d.token+"/v1/items/1", ""); got.status != http.StatusUnauthorized {
		t.Errorf("without a token the gateway answers %d, want 401", got.status)
	}
	d.counted(t, user, 3)
}

// webSocketAPI connects until a limit is used up.
func (d *deployment) webSocketAPI(t *testing.T, user string) {
	for i, want := range []int{101, 101, 403} {
		if got := d.connect(t, field{"Authorization", user}); got != want {
			t.Fatalf("handshake %d is answered %d, want %d", i, got, want)
		}
	}
}

// connect returns the status of a WebSocket handshake, and hangs up.
func (d *deployment) connect(t *testing.T, c field) (status int) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.socket, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		c.name: c.value, "Connection": "Upgrade", "Upgrade": "websocket",
		"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
	} {
		request.Header.Set(name, value)
	}
	client := http.Client{Timeout: 30 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

package apigw_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/request"
)

// rejecting rejects the credentials of every request.
type rejecting struct{}

func (rejecting) Authenticate(_ context.Context, _ time.Time, r *request.Request) error {
	r.Rejected = true
	return nil
}

// TestUnauthorizedByKind: invalid credentials are charged, and answered as the
// kind of gateway can: by the error that AWS documents as a 401, or by a denial.
func TestUnauthorizedByKind(t *testing.T) {
	for name, test := range map[string]struct {
		event            string
		policies, denial bool
	}{
		"REST":            {event: "get"},
		"TOKEN":           {event: "token"},
		"WebSocket":       {event: "websocket"},
		"AppSync":         {event: "appsync"},
		"HTTP 1.0":        {event: "http-1.0", denial: true},
		"HTTP 2.0":        {event: "http-2.0", denial: true},
		"HTTP 2.0 by IAM": {event: "http-2.0", denial: true, policies: true},
	} {
		a, _ := kindAuthorizer(t, "rules: [{name: guessing, when: {caller: rejected}, key: all, limits: [{capacity: 1, window: 60s}]}]")
		rejected := 0
		a.Policies, a.Rejected = test.policies, func() { rejected++ }
		a = a.WithAuthenticator(rejecting{})
		answer, err := a.Handle(t.Context(), rawEvent(t, test.event))
		if errors.Is(err, apigw.ErrUnauthorized) == test.denial || err == nil != test.denial {
			t.Errorf("%s: answer %v, error %v", name, answer, err)
		}
		text, _ := json.Marshal(answer)
		if test.denial && (!strings.Contains(string(text), `"deniedStatus":"401"`) || !strings.Contains(string(text), "#unauthorized") ||
			!strings.Contains(string(text), `"Effect":"Deny"`) && !strings.Contains(string(text), `"isAuthorized":false`)) {
			t.Errorf("%s: answer %s", name, text)
		}
		answer, err = a.Handle(t.Context(), rawEvent(t, test.event))
		text, _ = json.Marshal(answer)
		if err != nil || !strings.Contains(string(text), `"rule":"guessing"`) || strings.Contains(string(text), "deniedStatus") {
			t.Errorf("%s, over the limit: answer %s, error %v", name, text, err)
		}
		if rejected != 1 {
			t.Errorf("%s: %d requests rejected, want the one that no rule denied", name, rejected)
		}
	}
}

// TestPassUnauthorized: a backend that answers denials gets those for invalid
// credentials too, and answers 401 with a challenge (RFC 9110, section 15.5.2).
func TestPassUnauthorized(t *testing.T) {
	for _, event := range []string{"http-1.0", "http-2.0"} {
		a, _ := kindAuthorizer(t, "rules: []")
		a.PassDenials = true
		got := handle(t, a.WithAuthenticator(rejecting{}), event)
		denial, fields, denied := apigw.ContextOf(got.Context).Denial()
		if !got.passes() || !denied || denial.Status != 401 || fields["WWW-Authenticate"] != `Bearer error="invalid_token"` {
			t.Errorf("%s: passes %v, denial %+v with %v", event, got.passes(), denial, fields)
		}
	}
}

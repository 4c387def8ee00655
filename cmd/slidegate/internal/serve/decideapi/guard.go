package decideapi

import (
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/gateway"
	"github.com/slidegate/slidegate/internal/decide/api"
)

// tokenField has the token of a proxy, whose Authorization is its client's.
const tokenField = "Slidegate-Token"

// admits reports whether a request may ask for a decision, and answers those that
// may not. byProxy says that its fields are those of the proxy's client.
func (s *Server) admits(w http.ResponseWriter, r *http.Request, byProxy bool) bool {
	p := s.refusal(r, byProxy)
	if p == nil {
		return true
	}
	s.api.Log.WarnContext(r.Context(), "a request for a decision is refused", "reason", p.Detail)
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	write(w, p)
	return false
}

// refusal returns why a request may not ask for a decision, nil if it may. A web
// page does not know the token, so one that is right is enough.
func (s *Server) refusal(r *http.Request, byProxy bool) *api.Problem {
	if s.token != "" {
		sent, want := only(r, tokenField), "the field "+tokenField
		if !byProxy {
			scheme, token, _ := strings.Cut(only(r, "Authorization"), " ")
			if sent, want = "", "Authorization: Bearer TOKEN"; strings.EqualFold(scheme, "Bearer") {
				sent = strings.TrimSpace(token)
			}
		}
		if subtle.ConstantTimeCompare([]byte(sent), []byte(s.token)) == 1 {
			return nil
		}
		return api.NewProblem(http.StatusUnauthorized, "the token of this server is missing or wrong: send it as %s", want)
	}
	if status, reason := gateway.WebRefusal(r, byProxy); status != 0 {
		return api.NewProblem(status, "%s", reason)
	}
	return nil
}

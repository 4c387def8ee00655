package decideapi

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// tokenField has the token of a proxy, whose Authorization is its client's.
const tokenField = "Slidegate-Token"

// admits reports whether a request may ask for a decision, and answers those that
// may not. byProxy says that its fields are those of the proxy's client.
func (s *server) admits(w http.ResponseWriter, r *http.Request, byProxy bool) bool {
	p := s.refusal(r, byProxy)
	if p == nil {
		return true
	}
	s.log.WarnContext(r.Context(), "a request for a decision is refused", "reason", p.Detail)
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	p.write(w)
	return false
}

// refusal returns why a request may not ask for a decision, nil if it may. A web
// page does not know the token, so one that is right is enough.
func (s *server) refusal(r *http.Request, byProxy bool) *problem {
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
		return newProblem(http.StatusUnauthorized, "the token of this server is missing or wrong: send it as %s", want)
	}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok && local.IP.IsLoopback() {
		if isRebound(r.Host, local.Port, byProxy) {
			return newProblem(http.StatusMisdirectedRequest,
				"the Host is %.260q, and a web page could have made this name stand for this machine: ask at an address such as 127.0.0.1, or at localhost", r.Host)
		}
		if !byProxy && len(r.Header["Sec-Fetch-Site"]) > 0 {
			return newProblem(http.StatusForbidden, "a browser sends this, as Sec-Fetch-Site says: only programs may ask")
		}
	}
	return nil
}

// isRebound reports whether a web page may have sent a request by DNS rebinding.
// The page's name then resolves to this machine, and is the Host with this
// server's port. A proxy may send the Host of its client, which has another port.
func isRebound(host string, port int, byProxy bool) bool {
	name, to, err := net.SplitHostPort(host)
	if err != nil {
		name, to = strings.Trim(host, "[]"), "80"
	}
	address, err := netip.ParseAddr(name)
	isName := err != nil && !strings.EqualFold(name, "localhost") || address.Zone() != ""
	number, err := strconv.Atoi(to)
	return isName && (!byProxy || err != nil || number == port)
}

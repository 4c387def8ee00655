package decideapi

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate/internal/decide/api"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/headers"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/request"
)

// forward answers a proxy that asks whether to let its client's request through:
// 200 or the denial. A request that a leaky bucket admits is answered when its
// turn has come.
func (s *Server) forward(w http.ResponseWriter, r *http.Request, f *forwarded, deny func(http.ResponseWriter, headers.Denial)) {
	if !s.admits(w, r, true) {
		return
	}
	req, err := f.request()
	if err != nil {
		s.api.Log.ErrorContext(r.Context(), "the proxy does not describe its client's request", "error", err)
		write(w, api.NewProblem(http.StatusInternalServerError, "%v", err))
		return
	}
	if s.Receipts {
		req.Reserve = &request.Reserve{}
	}
	decided, p := s.api.Decide(r.Context(), req)
	if p != nil {
		write(w, p)
		return
	}
	a := decided.Answer
	tooLong := a.Delay > s.maxDelay
	if a.Allowed && (tooLong || clock.Sleep(r.Context(), a.Delay) != nil) {
		s.api.Decider.Finish(r.Context(), decided.Decision, &engine.Outcome{}) // its place is free
		if !tooLong {
			panic(http.ErrAbortHandler) // the proxy has hung up, and the turn passes unused
		}
		a = a.TooLong()
	}
	for field := range a.Fields() {
		w.Header()[field.Name] = []string{field.Value}
	}
	if a.Allowed {
		if s.Receipts {
			w.Header()[receipt.Header] = []string{cmp.Or(decided.Receipt, receipt.Nothing)}
		}
		w.WriteHeader(http.StatusOK)
		return
	}
	if decided.Reason == api.Unauthorized {
		w.Header()["WWW-Authenticate"] = []string{headers.InvalidToken}
	}
	w.Header().Set(headers.AllowOrigin, "*") // scripts of every origin may read the denial
	headers.Expose(w.Header())
	deny(w, a.Denial())
}

// writeDenial answers a proxy that passes denials on as they are.
func writeDenial(w http.ResponseWriter, d headers.Denial) {
	writeBody(w, d.Status, d.ContentType, []byte(d.Body))
}

// Fields in which nginx gets the status and the body of a denial.
const (
	forbiddenStatus = "Slidegate-Status"
	forbiddenBody   = "Slidegate-Body"
)

// writeForbidden answers nginx, whose auth_request knows 401 and 403 alone, and
// drops bodies. Its configuration makes 429 of the 403, unless the field says 403,
// with the body of a field.
func writeForbidden(w http.ResponseWriter, d headers.Denial) {
	if d.Status == http.StatusUnauthorized {
		writeDenial(w, d)
		return
	}
	w.Header().Set(forbiddenStatus, strconv.Itoa(d.Status))
	w.Header().Set(forbiddenBody, strings.TrimSpace(d.Body))
	w.WriteHeader(http.StatusForbidden)
}

// forwarded is the client's request, as the proxy describes it.
type forwarded struct {
	method, target, host string
	fields               http.Header
}

// Names of fields in which proxies describe a request.
const (
	forwardedMethod = "X-Forwarded-Method"
	forwardedURI    = "X-Forwarded-Uri"
	forwardedHost   = "X-Forwarded-Host"
)

// ofFields reads the fields of nginx, Traefik and Caddy. Two of them are not the
// client's, so rules do not see them.
func ofFields(r *http.Request) *forwarded {
	f := &forwarded{method: only(r, forwardedMethod), target: only(r, forwardedURI), host: r.Host, fields: r.Header.Clone()}
	if host := only(r, forwardedHost); host != "" {
		f.host = host
	}
	f.fields.Del(forwardedMethod)
	f.fields.Del(forwardedURI)
	return f
}

// only returns the value of a field, "" if it is missing or repeated.
func only(r *http.Request, name string) string {
	if values := r.Header.Values(name); len(values) == 1 {
		return values[0]
	}
	return ""
}

// request returns what rules see of the client's request. Its address is the last
// entry of X-Forwarded-For: the one that the proxy itself has added. As for API
// Gateway, client_ip counts back from there.
func (f *forwarded) request() (*request.Request, error) {
	const fix = "examples/proxies has configurations that do"
	if !request.IsMethod(f.method) {
		return nil, fmt.Errorf("the proxy has to send %s, the method of its client's request, once: %s", forwardedMethod, fix)
	}
	if f.target == "" {
		return nil, fmt.Errorf("the proxy has to send %s, the target of its client's request, once: %s", forwardedURI, fix)
	}
	req := &request.Request{Method: f.method, Headers: f.fields, NoOperation: true}
	if req.IP = req.LastForwarded(); !req.IP.IsValid() {
		return nil, errors.New("the proxy has to end X-Forwarded-For by the address of its client: " + fix)
	}
	req.SetTarget(f.target)
	if !strings.HasPrefix(req.Path, "/") {
		req.Path = "/" + req.Path // of "OPTIONS *"
	}
	f.fields["Host"] = []string{f.host}
	f.fields.Del(tokenField)
	return req, nil
}

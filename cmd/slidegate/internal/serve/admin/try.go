package admin

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/slidegate/slidegate/internal/request"
)

// maxForm bounds what a form sends, in bytes.
const maxForm = 64 << 10

// parseTry reads the request that a form describes. Its errors name the field.
func parseTry(w http.ResponseWriter, r *http.Request) (*request.Request, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return nil, fmt.Errorf("the form cannot be read: %w", err)
	}
	field := func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }
	req := &request.Request{Method: field("method"), Headers: map[string][]string{}, APIKey: field("apikey")}
	if !request.IsMethod(req.Method) {
		return nil, fmt.Errorf("method %q: want one such as GET", req.Method)
	}
	target := field("path")
	if !strings.HasPrefix(target, "/") {
		return nil, fmt.Errorf("path %q: want one that begins with a slash, such as /v1/items?page=2", target)
	}
	req.SetTarget(target)
	if ip := field("ip"); ip != "" {
		if req.IP = request.ParseAddr(ip); !req.IP.IsValid() {
			return nil, fmt.Errorf("client address %q: want an IPv4 or IPv6 address", ip)
		}
	}
	for line := range strings.Lines(field("headers")) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || !request.IsToken(name) {
			return nil, fmt.Errorf("header %q: want NAME: VALUE, one a line", strings.TrimSpace(line))
		}
		req.Headers[name] = append(req.Headers[name], strings.TrimSpace(value))
	}
	if claims := field("claims"); claims != "" {
		var err error
		if req.Claims, err = request.ParseObject([]byte(claims)); err != nil {
			return nil, fmt.Errorf(`claims %q: want a JSON object such as {"sub": "7"}: %w`, claims, err)
		}
	}
	return req, nil
}

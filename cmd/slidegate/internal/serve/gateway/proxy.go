package gateway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	stdlog "log"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/httplimit"
	"github.com/slidegate/slidegate/internal/decide/headers"
)

// exchange is a request and its answer, as the steps of the gateway share them.
type exchange struct {
	answer
	own     http.Header // the limiter's fields
	upload  *upload     // nil for a request without a body
	trusted bool        // the client is a proxy that the rules trust
}

// answer is what httplimit.Recorder makes of the server's writer.
type answer interface {
	http.ResponseWriter
	Record(status int, fields http.Header)
	Abort()
}

type exchangeKey struct{}

func exchangeOf(r *http.Request) *exchange { return r.Context().Value(exchangeKey{}).(*exchange) }

// proxy passes requests on to a backend.
type proxy struct {
	httputil.ReverseProxy
	backend    *url.URL
	clientHost bool           // the backend gets the client's Host
	address    *regexp.Regexp // of the backend, in fields with URLs
	log        *slog.Logger   // a throttled one
}

func newProxy(o *Options, log *slog.Logger) *proxy {
	p := &proxy{backend: o.Backend, clientHost: o.PassHost, address: addressIn(o.Backend), log: log}
	p.ReverseProxy = httputil.ReverseProxy{
		Transport: newTransport(o.Timeouts.withDefaults().Backend, o.Dial), BufferPool: &buffers{},
		Rewrite: p.rewrite, ModifyResponse: p.modify, ErrorHandler: p.fail,
		ErrorLog: stdlog.New(freeText{log, "an answer broke off"}, "", 0),
	}
	return p
}

// ServeHTTP passes an allowed request on.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := exchangeOf(r)
	x.answer, x.own = w.(answer), maps.Clone(w.Header())
	clear(w.Header()) // ReverseProxy does so after early hints
	connection := http.NewResponseController(w)
	if r.ContentLength != 0 {
		_ = connection.EnableFullDuplex() // otherwise net/http takes the rest of an upload once the answer begins
	}
	p.ReverseProxy.ServeHTTP(w, r)
	// The next request begins after the rest, which the backend did not want. In full
	// duplex net/http must find nothing of it.
	if u := x.upload; u != nil && !u.ended.Load() {
		_ = connection.Flush()
		_ = connection.SetReadDeadline(time.Now().Add(restTime))
		_, _ = io.Copy(io.Discard, r.Body)
	}
}

// restTime bounds how long the rest of an upload may take.
const restTime = 5 * time.Second

// rewrite makes the request for the backend. A target such as
// "x:http://elsewhere/admin" has no path, and would be passed on unchanged.
func (p *proxy) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(p.backend)
	r.Out.URL.Opaque, r.Out.URL.RawQuery = "", r.In.URL.RawQuery // ReverseProxy drops what net/url cannot parse
	if p.clientHost {
		r.Out.Host = r.In.Host
	}
	keepFields(r)
	forward(r, exchangeOf(r.In).trusted)
	r.Out.Trailer = nil // net/http does not check the names, and API Gateway passes none on
	if r.Out.Body != nil {
		u := &upload{ReadCloser: r.Out.Body, reading: make(chan struct{}, 1)}
		r.Out.Body, exchangeOf(r.In).upload = u, u
	}
}

// forward says who asked, and how. What a proxy before the gateway has said stays,
// if the rules trust the proxy.
func forward(r *httputil.ProxyRequest, trusted bool) {
	r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"] // SetXForwarded appends the peer, as API Gateway does
	r.SetXForwarded()
	delete(r.Out.Header, "X-Forwarded-Port")
	if local, ok := r.In.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		if _, port, err := net.SplitHostPort(local.String()); err == nil {
			r.Out.Header["X-Forwarded-Port"] = []string{port}
		}
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-Port"} {
		if stated := r.In.Header[name]; trusted && len(stated) > 0 {
			r.Out.Header[name] = stated
		}
	}
}

// modify makes the answer for the client.
func (p *proxy) modify(response *http.Response) error {
	x, asked := exchangeOf(response.Request), response.Request.Header
	if response.StatusCode == http.StatusSwitchingProtocols {
		x.Record(response.StatusCode, response.Header) // ReverseProxy hijacks the connection, past the recorder
	}
	for _, name := range []string{"Location", "Content-Location", "Refresh", "Link"} {
		for i, text := range response.Header[name] {
			gateway := first(asked, "X-Forwarded-Proto") + "://" + first(asked, "X-Forwarded-Host")
			response.Header[name][i] = p.address.ReplaceAllString(text, "${1}"+strings.ReplaceAll(gateway, "$", "$$")+"${2}")
		}
	}
	maps.Copy(response.Header, x.own) // in place of the backend's fields of these names
	return nil
}

// addressIn finds the backend's own address where a URL begins. A client must not
// follow it past the gateway.
func addressIn(backend *url.URL) *regexp.Regexp {
	standard := map[string]string{"http": "80", "https": "443"}[backend.Scheme]
	port := ":" + cmp.Or(backend.Port(), standard)
	host := regexp.QuoteMeta(strings.TrimSuffix(backend.Host, ":"+backend.Port()))
	if port == ":"+standard {
		port = "(?:" + port + ")?"
	}
	return regexp.MustCompile(`(?i)(^|<|;\s*url=["']?)(?:` + backend.Scheme + `:)?//` + host + port + `($|[/?#>"'])`)
}

// first returns the first entry of a list in a field, which the proxy that clients
// reach has written.
func first(h http.Header, name string) string {
	entry, _, _ := strings.Cut(h.Get(name), ",")
	return strings.TrimSpace(entry)
}

// fail answers a request that the backend has not answered.
func (p *proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r)
	status, broken := failure(r, err)
	if r.Context().Err() != nil && status != http.StatusRequestTimeout {
		panic(http.ErrAbortHandler) // the backend did not fail, so nothing is refunded
	}
	if broken {
		x.Abort()
		x.upload.ended.Store(true) // no rest will come, and no next request
		w.Header().Set("Connection", "close")
	} else {
		p.log.ErrorContext(r.Context(), "backend failed", "backend", p.backend.Redacted(), "status", status, "error", err)
	}
	maps.Copy(w.Header(), x.own)
	httplimit.Answer(w, status, headers.Problem{Type: "about:blank", Title: http.StatusText(status)})
}

// failure returns the status for a request that the backend has not answered.
// broken says that its client has not sent the whole body.
func failure(r *http.Request, err error) (status int, broken bool) {
	if u := exchangeOf(r).upload; u != nil {
		switch broken := u.failure(r.Context()); {
		case errors.Is(broken, os.ErrDeadlineExceeded):
			return http.StatusRequestTimeout, true
		case broken != nil:
			return http.StatusBadRequest, true
		}
	}
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		return http.StatusGatewayTimeout, false
	}
	return http.StatusBadGateway, false
}

// upload is the body of a request. It keeps the error of a client that does not
// send the whole body, which is no failure of the backend.
type upload struct {
	io.ReadCloser
	reading chan struct{} // full while a read is under way
	broken  error
	ended   atomic.Bool
}

func (u *upload) Read(p []byte) (int, error) {
	u.reading <- struct{}{}
	n, err := u.ReadCloser.Read(p)
	if err == io.EOF {
		u.ended.Store(true)
	} else if err != nil {
		u.broken = err
	}
	<-u.reading
	return n, err
}

// failure returns why the body ended before its end, nil if it did not. net/http
// cancels a request before it returns the error of its body, and the transport may
// return in between. So failure waits for the read of a cancelled request.
func (u *upload) failure(ctx context.Context) error {
	select {
	case u.reading <- struct{}{}:
	default:
		if ctx.Err() == nil {
			return nil // a client that is slow, not broken
		}
		u.reading <- struct{}{}
	}
	defer func() { <-u.reading }()
	return u.broken
}

// hopByHop are the fields of a connection alone, which ReverseProxy removes.
var hopByHop = []string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// ownField is the name of a field of Slidegate.
var ownField = regexp.MustCompile(`(?i)^slidegate[^0-9a-z]`)

// keepFields puts back the fields that Connection names. ReverseProxy has removed
// them, but rules have read them: the backend gets what the rules saw.
//
// The backend does not get the fields of Slidegate's own, such as a receipt, which
// clients can only make up. Backends of CGI may take any other character than
// letters and digits for a hyphen. A client may upgrade to WebSocket only: over
// HTTP/2 it could send any number of requests past the rules.
func keepFields(r *httputil.ProxyRequest) {
	for _, named := range r.In.Header["Connection"] {
		for name := range strings.SplitSeq(named, ",") {
			name = http.CanonicalHeaderKey(textproto.TrimString(name))
			if values := r.In.Header[name]; len(values) > 0 && !slices.Contains(hopByHop, name) {
				r.Out.Header[name] = values
			}
		}
	}
	maps.DeleteFunc(r.Out.Header, func(name string, _ []string) bool { return ownField.MatchString(name) })
	if !strings.EqualFold(r.Out.Header.Get("Upgrade"), "websocket") {
		for _, name := range []string{"Upgrade", "Connection", "Http2-Settings"} {
			delete(r.Out.Header, name)
		}
	}
}

// buffers are for the bodies of answers.
type buffers struct{ sync.Pool }

// Get returns a buffer of the size that ReverseProxy makes itself.
func (b *buffers) Get() []byte {
	if p, ok := b.Pool.Get().(*[32 << 10]byte); ok {
		return p[:]
	}
	return make([]byte, 32<<10)
}

// Put takes a buffer back.
func (b *buffers) Put(p []byte) { b.Pool.Put((*[32 << 10]byte)(p)) }

// freeText logs the text that net/http writes, as lines of one kind.
type freeText struct {
	log     *slog.Logger
	message string
}

func (l freeText) Write(line []byte) (int, error) {
	l.log.Warn(l.message, "detail", string(bytes.TrimSpace(line)))
	return len(line), nil
}

// Package request holds what rules see of a request: its path, headers and
// credentials, and the address of its client.
package request

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/request/urlpath"
)

// Request holds what rules look at. Do not change it after its first use, because
// it keeps what rules derive from it. It belongs to one goroutine.
type Request struct {
	Method string
	Path   string // as sent, percent-escapes and all, without the query string
	Route  string // the gateway's template, such as "/users/{id}" or "GET /users/{id}"; empty for none
	Stage  string
	IP     netip.Addr // the zero Addr where it is not known

	// Country and ASN are what CloudFront says of the client. ClientAddress.Locate
	// sets them; they are empty for a request that did not come through it.
	Country string // ISO 3166-1 alpha-2, such as "DE"
	ASN     string // the number of the network's autonomous system

	Headers    map[string][]string // names in any case
	Query      map[string][]string // values decoded
	PathParams map[string]string   // values decoded
	Operation  Operation           // of a GraphQL request
	// NoOperation says that the request came in a way that never states a GraphQL
	// operation. It is false for AppSync's requests, and for those of logs and
	// explanations, which are not answered.
	NoOperation bool
	// AmbiguousQuery has the names of parameters that servers may read in several
	// ways. SetQuery sets it.
	AmbiguousQuery []string

	// Claims are the claims of a verified token, as encoding/json decodes them
	// with UseNumber; nil without a token.
	Claims map[string]any
	APIKey string // the id of a verified API key, never the key; empty where there was none
	// GatewayKey is the id of the API key that API Gateway has found for the
	// request. Rules see it as APIKey, if the document says so.
	GatewayKey string
	// Rejected says that the client sent invalid credentials. Rules then ignore
	// Claims and APIKey.
	Rejected bool
	// Unverified says that the client sent credentials that nothing could verify
	// at the moment. The caller is Anonymous then.
	Unverified bool

	// Missing says what the gateway's event does not tell about the request; nil
	// if it tells everything. Rules that read it are refused.
	Missing *Missing

	// Unreadable is the header and the entry in which ClientAddress.Locate expected
	// the client's address and found another text; empty for none. IP is then
	// the address of the proxy.
	Unreadable string

	// Reserve says that the program which asks settles the charge by a receipt; nil
	// for one that does not.
	Reserve *Reserve

	derived Derived
	located bool // ClientAddress.Locate has set IP
}

// Reserve says how a charge is settled by a receipt.
type Reserve struct {
	// ID is the caller's own name for the decision, which it may repeat: that
	// charges once. It is empty for none.
	ID string
}

// Operation is what a GraphQL request runs; the zero value for nothing.
type Operation struct {
	Type   string   // "query", "mutation" or "subscription"
	Name   string   // that the client gives it; empty for none
	Fields []string // the names of its root fields, sorted, without aliases
	Count  int64    // of root fields: those of two aliases are two
	// Ambiguous says why servers may run different operations, or none; empty if
	// all run the same.
	Ambiguous string
}

// Missing names what the events of one kind of gateway lack.
type Missing struct {
	Event   string // the kind of event, such as "a TOKEN authorizer's event"
	Instead string // what operators can do about it
	Address bool   // of the client
	// Peer says that the address is not the client's: it is usable only if
	// client_ip finds the client's address in a header.
	Peer       bool
	Headers    bool // all but Authorization
	Query      bool
	PathParams bool
}

// Derived is what rules derive from a request once.
type Derived struct {
	known     bool
	Path      string // the clean form
	Ambiguity urlpath.Ambiguity
	Variants  [3]urlpath.Text // of the path: its clean form, as sent, and up to a number sign
	count     int             // of variants; most paths have one
	Exact     bool            // the path was sent in its clean form
	Template  string          // the gateway's route; empty where it has none
	Route     urlpath.Text    // of the template
}

// Addr returns the client's address in its Canonical form.
func (r *Request) Addr() netip.Addr { return Canonical(r.IP) }

// Derived returns what rules derive from the path and the route. The first call
// derives it.
func (r *Request) Derived() *Derived {
	if !r.derived.known {
		r.derive()
	}
	return &r.derived
}

func (r *Request) derive() {
	f := &r.derived // zero until now
	f.known, f.Template, f.Path, f.Exact, f.count = true, routeTemplate(r.Route), r.Path, true, 1
	var usual bool
	if f.Variants[0], usual = urlpath.Usual(r.Path); !usual {
		f.derivePath(r.Path)
	}
	if f.Template != "" {
		f.Route = urlpath.NewText(f.Template)
	}
}

// derivePath reads a path of any form.
func (f *Derived) derivePath(raw string) {
	f.Path, f.Ambiguity = urlpath.Clean(raw), urlpath.Examine(raw)
	f.Variants[0] = urlpath.NewText(f.Path)
	add := func(path string) {
		f.Variants[f.count] = urlpath.NewText(path)
		f.count++
	}
	if f.Ambiguity.Ambiguous() {
		add(urlpath.Decode(raw))
	}
	if before, found := urlpath.BeforeNumberSign(raw); found {
		add(before)
	}
	f.Exact = !f.Ambiguity.Ambiguous() && (f.Path == raw || raw == "")
}

// PathVariants are the forms of the path that limits and bans look at.
func (f *Derived) PathVariants() []urlpath.Text { return f.Variants[:f.count] }

// Header returns the values of a header. The name is in lower case.
func (r *Request) Header(name string) (values []string) {
	sent := make([]string, 0, 2) // in one letter case, or in several
	for n := range r.Headers {
		if len(n) == len(name) && strings.EqualFold(n, name) { // so no letter outside ASCII folds into one of the name
			sent = append(sent, n)
		}
	}
	if len(sent) == 1 {
		return r.Headers[sent[0]]
	}
	slices.Sort(sent) // so the same request always gives the same list
	for _, n := range sent {
		values = append(values, r.Headers[n]...)
	}
	return values
}

// PreflightFields are the names of the fields that every CORS preflight has.
var PreflightFields = [...]string{"origin", "access-control-request-method"}

// IsPreflight reports whether the request is a CORS preflight: OPTIONS with the
// fields Origin and Access-Control-Request-Method, and without a body. Browsers
// send no credentials with one, and a denied one hides the answer to the request
// that follows. Any other OPTIONS counts like every method.
func (r *Request) IsPreflight() bool {
	has := func(name string) bool { return len(r.Header(name)) > 0 }
	stated := func(name string) bool {
		return slices.ContainsFunc(r.Header(name), func(value string) bool { return strings.Trim(value, " \t") != "" })
	}
	return r.Method == "OPTIONS" && stated(PreflightFields[0]) && stated(PreflightFields[1]) && !r.hasBody() && !has("upgrade")
}

// hasBody reports whether the fields announce a body.
func (r *Request) hasBody() bool {
	isBody := func(length string) bool { return length != "0" }
	return len(r.Header("transfer-encoding")) > 0 || slices.ContainsFunc(r.Header("content-length"), isBody)
}

// routeTemplate returns the gateway's template for a route, or "" where the
// route says nothing about the path: "$default", no route at all, or one that
// ends in a greedy part such as {proxy+}. An HTTP API's "GET /items" loses its
// method.
func routeTemplate(route string) string {
	if _, rest, ok := strings.Cut(route, " "); ok && strings.HasPrefix(rest, "/") {
		route = rest
	}
	if route == "$default" || strings.HasSuffix(route, "+}") {
		return ""
	}
	return route
}

// IsToken reports whether s is a token of RFC 9110, section 5.6.2: the form of
// header names and methods.
func IsToken(s string) bool {
	isOther := func(c rune) bool {
		alphanumeric := '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		return !alphanumeric && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	}
	return s != "" && !strings.ContainsFunc(s, isOther)
}

// IsMethod reports whether s can be a method. A gateway's ANY and a star are
// none, though the star is a token.
func IsMethod(s string) bool { return IsToken(s) && !strings.Contains(s, "*") }

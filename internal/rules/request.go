package rules

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/urlpath"
)

// Request holds what rules look at. Do not change it after its first use, because
// it keeps what rules derive from it. It belongs to one goroutine.
type Request struct {
	Method string
	Path   string // as sent, percent-escapes and all, without the query string
	Route  string // the gateway's template, such as "/users/{id}" or "GET /users/{id}"; empty for none
	Stage  string
	IP     netip.Addr // the zero Addr where it is not known

	Headers    map[string][]string // names in any case
	Query      map[string][]string // values decoded
	PathParams map[string]string   // values decoded

	// Claims are those of a verified token, as encoding/json decodes them with UseNumber; nil where there was none.
	Claims map[string]any
	APIKey string // the id of a verified API key, never the key; empty where there was none
	// Rejected says that the client sent invalid credentials. Rules then ignore
	// Claims and APIKey.
	Rejected bool

	facts facts
}

// facts are derived from a request once, however many rules look at them.
type facts struct {
	known     bool
	path      string // the clean form
	ambiguity urlpath.Ambiguity
	variants  [2]urlpath.Text // of the path: its clean form, and as sent
	count     int             // of variants; an unambiguous path has one
	exact     bool            // the path was sent in its clean form
	template  string          // the gateway's route; empty where it has none
	route     urlpath.Text    // of the template, else of the path
	addr      netip.Addr      // an IPv4 address in IPv6's clothes is IPv4; no zone
}

func (r *Request) work() *facts {
	if !r.facts.known {
		r.facts = r.derive()
	}
	return &r.facts
}

func (r *Request) derive() facts {
	f := facts{
		known: true, path: urlpath.Clean(r.Path), ambiguity: urlpath.Examine(r.Path),
		template: routeTemplate(r.Route), addr: r.IP.Unmap().WithZone(""),
	}
	f.variants[0], f.count = urlpath.NewText(f.path), 1
	if f.ambiguity.Ambiguous() {
		f.variants[1], f.count = urlpath.NewText(urlpath.Decode(r.Path)), 2
	}
	f.exact = !f.ambiguity.Ambiguous() && (f.path == r.Path || r.Path == "")
	f.route = f.variants[0]
	if f.template != "" {
		f.route = urlpath.NewText(f.template)
	}
	return f
}

// pathVariants are the forms of the path that limits and bans look at.
func (f *facts) pathVariants() []urlpath.Text { return f.variants[:f.count] }

// header returns the values of a header. The name is in lower case.
func (r *Request) header(name string) []string {
	var values []string
	cases := 0
	for n, v := range r.Headers {
		if sameHeader(n, name) {
			cases++
			values = v
		}
	}
	if cases > 1 {
		return r.mergedHeader(name)
	}
	return values
}

// mergedHeader returns the values of a header that was sent in several letter
// cases. It sorts the names, so that the same request always gives the same list.
func (r *Request) mergedHeader(name string) []string {
	var values []string
	for _, n := range slices.Sorted(maps.Keys(r.Headers)) {
		if sameHeader(n, name) {
			values = append(values, r.Headers[n]...)
		}
	}
	return values
}

// sameHeader compares names of the same length only, so that no letter outside
// ASCII can fold into one.
func sameHeader(a, b string) bool { return len(a) == len(b) && strings.EqualFold(a, b) }

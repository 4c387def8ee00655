package rules

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// Request is what rules see of a request. Fill it in before its first use and leave it unchanged: what has been worked
// out of it is kept. It belongs to one goroutine.
type Request struct {
	Method string
	Path   string // as sent, percent-escapes and all, without the query string
	Route  string // the gateway's template, such as "/users/{id}" or "GET /users/{id}"; empty where there is none
	Stage  string
	IP     netip.Addr // the zero Addr where it is not known

	Headers    map[string][]string // names in any case
	Query      map[string][]string // values decoded
	PathParams map[string]string   // values decoded

	// Claims are those of a verified token, as encoding/json decodes them with UseNumber; nil where there was none.
	Claims map[string]any
	APIKey string // the id of a verified API key, never the key; empty where there was none
	// Rejected says that credentials were sent and are no good. Then Claims and APIKey say nothing.
	Rejected bool

	facts facts
}

// facts are worked out of a request once, however many rules ask.
type facts struct {
	known    bool
	path     string     // cleaned
	others   []string   // how else a backend may read the path
	endless  bool       // in more ways than can be looked at
	sent     bool       // path is what was sent, and all backends read it alike
	template string     // the gateway's route, where it is one that patterns can match
	route    string     // what patterns of routes are matched against: the template, else the path
	addr     netip.Addr // an IPv4 address in IPv6's clothes is IPv4; no zone
}

func (r *Request) work() *facts {
	if !r.facts.known {
		f := facts{known: true, path: cleanPath(r.Path), template: routeTemplate(r.Route), addr: r.IP.Unmap().WithZone("")}
		f.sent = (f.path == r.Path || r.Path == "") && isPlain(f.path)
		if !f.sent {
			others, ok := otherReadings(r.Path, f.path)
			f.others, f.endless = others, !ok
		}
		f.route = f.path
		if f.template != "" {
			f.route = f.template
		}
		r.facts = f
	}
	return &r.facts
}

// header returns the values of a header, its name given in lower case.
func (r *Request) header(name string) []string {
	var values []string
	spellings := 0
	for n, v := range r.Headers {
		if sameHeader(n, name) {
			spellings++
			values = v
		}
	}
	if spellings > 1 {
		return r.mergedHeader(name)
	}
	return values
}

// mergedHeader puts the values of a header together that was sent in several letter cases, in the order of its names, so
// that the same request always gives the same list.
func (r *Request) mergedHeader(name string) []string {
	var values []string
	for _, n := range slices.Sorted(maps.Keys(r.Headers)) {
		if sameHeader(n, name) {
			values = append(values, r.Headers[n]...)
		}
	}
	return values
}

// sameHeader compares names of the same length only, so that no letter outside ASCII can fold into one.
func sameHeader(a, b string) bool { return len(a) == len(b) && strings.EqualFold(a, b) }

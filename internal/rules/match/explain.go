package match

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/request/urlpath"
	"github.com/slidegate/slidegate/internal/rules/key"
)

// Explain returns the first field that does not hold, else all stated fields. It
// agrees with Covers, or with CoversExactly.
func (s *Selector) Explain(r *request.Request, exactly bool) (reason string, covers bool) {
	var held, failed []string
	add := func(holds bool, yes, no string) {
		if holds {
			held = append(held, yes)
		} else {
			failed = append(failed, no)
		}
	}
	f := r.Derived()
	if s.byPath() && exactly && !f.Exact {
		add(false, "", "path "+Display(r.Path)+" "+whyNotExact(f, r.Path))
	}
	if len(s.Methods) > 0 {
		method := Display(r.Method)
		add(s.hasMethod(r.Method, !exactly), "method is "+method, "method "+method+" is not among "+ShortList(s.Methods))
	}
	if len(s.Routes) > 0 {
		add(compare("route", cmp.Or(f.Template, f.Path), s.Routes, s.matchingRoute(f, exactly)))
	}
	if len(s.Paths) > 0 {
		add(compare("path", f.Path, s.Paths, matchingPath(s.Paths, f, exactly)))
	}
	if len(s.CIDRs) > 0 {
		add(s.compareAddr(r.Addr()))
	}
	if len(s.Callers) > 0 {
		is, not := "caller is "+r.Caller(), ", not "+strings.Join(s.Callers, " or ")
		if slices.Contains(s.Callers, r.Caller()) {
			not = " only because a CORS preflight has no credentials"
		}
		add(s.hasCaller(r), is, is+not)
	}
	for i := range s.Match {
		c := &s.Match[i]
		is := c.Part.String() + " is " + ShownValue(c.Part, r)
		add(c.Holds(r, exactly), is, is+", not among "+ShortList(c.Words))
	}
	if len(failed) > 0 {
		return failed[0], false
	}
	return strings.Join(held, ", "), true
}

// whyNotExact says why nothing that lifts limits matches the path.
func whyNotExact(f *request.Derived, raw string) string {
	if f.Path != raw {
		return "is not sent in its clean form, " + Display(f.Path)
	}
	return WhyAmbiguous(f.Ambiguity)
}

// WhyAmbiguous says what makes the path ambiguous: "has a semicolon in a;b".
func WhyAmbiguous(a urlpath.Ambiguity) string {
	if a.Segment == "" {
		return "has " + a.Kind
	}
	return "has " + a.Kind + " in " + Display(a.Segment)
}

// compare writes how a path or a route compares with patterns, of which one was
// found to match it, or none.
func compare(field, path string, patterns []Pattern, found *Pattern) (holds bool, yes, no string) {
	subject := field + " " + Display(path)
	if found != nil {
		return true, subject + " matches " + found.Text, ""
	}
	var texts []string
	for i := range patterns {
		texts = append(texts, patterns[i].Text)
	}
	return false, "", subject + " does not match " + ShortList(texts)
}

func (s *Selector) compareAddr(addr netip.Addr) (holds bool, yes, no string) {
	if !addr.IsValid() {
		return false, "", "the address is not known"
	}
	var networks []string
	for _, c := range s.CIDRs {
		if c.Contains(addr) {
			return true, fmt.Sprintf("address %s is in %s", addr, c), ""
		}
		networks = append(networks, c.String())
	}
	return false, "", fmt.Sprintf("address %s is not in %s", addr, ShortList(networks))
}

// ShownValue returns the request's value of a source for people.
func ShownValue(p key.Part, r *request.Request) string {
	if text, ok := p.Value(r); ok {
		return Display(text)
	}
	if p.Kind == key.FromClaim {
		if claim := r.Claim(p.Text); claim != nil {
			whole, _ := json.Marshal(claim) // it came out of JSON
			return Display(string(whole))
		}
	}
	return Missing
}

const (
	// Missing stands for a value that the request lacks.
	Missing = "missing"
	// longestList is how many words a reason names, of a list that may hold thousands.
	longestList = 5
	// longestText is how much of a client's text a reason shows, in bytes.
	longestText = 80
)

// ShortList joins the first five words with commas, and counts the rest.
func ShortList(words []string) string {
	if more := len(words) - longestList; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:longestList], ", "), more)
	}
	return strings.Join(words, ", ")
}

// Display makes a client's text safe for terminals: it quotes all but printable
// ASCII, and shortens long texts.
func Display(text string) string {
	more := ""
	if len(text) > longestText {
		text, more = text[:longestText], "…"
	}
	if text == "" || strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' }) {
		return strconv.QuoteToASCII(text) + more
	}
	return text + more
}

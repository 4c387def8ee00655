package match

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/urlpath"
)

// Explain returns the first field that does not hold, else all stated fields. It
// agrees with covers, or with coversExactly.
func (s *Selector) Explain(r *request.Request, exactly bool) (reason string, covers bool) {
	var held []string
	for _, f := range s.findings(r, exactly) {
		if !f.holds {
			return f.text, false
		}
		held = append(held, f.text)
	}
	return strings.Join(held, ", "), true
}

// finding is the result of one field for a request.
type finding struct {
	holds bool
	text  string
}

// findingOf returns a finding with the text for its result.
func findingOf(holds bool, yes, no string) finding {
	if holds {
		return finding{true, yes}
	}
	return finding{false, no}
}

// findings returns the results of the stated fields.
func (s *Selector) findings(r *request.Request, exactly bool) (all []finding) {
	f := r.Derived()
	if exactly && !f.Exact && s.byPath() {
		all = append(all, finding{false, "path " + Display(r.Path) + " " + whyNotExact(f, r.Path)})
	}
	if len(s.Methods) > 0 {
		method := Display(r.Method)
		all = append(all, findingOf(s.hasMethod(r.Method, !exactly), "method is "+method, "method "+method+" is not among "+ShortList(s.Methods)))
	}
	if len(s.Routes) > 0 {
		path := f.Template
		if path == "" {
			path = f.Path
		}
		all = append(all, patternFinding("route", s.Routes, s.matchingRoute(f, exactly), path))
	}
	if len(s.Paths) > 0 {
		all = append(all, patternFinding("path", s.Paths, matchingPath(s.Paths, f, exactly), f.Path))
	}
	if len(s.CIDRs) > 0 {
		all = append(all, s.addrFinding(f.Addr))
	}
	if len(s.Callers) > 0 {
		is := "caller is " + r.Caller()
		all = append(all, findingOf(slices.Contains(s.Callers, r.Caller()), is, is+", not "+strings.Join(s.Callers, " or ")))
	}
	for i := range s.Match {
		c := &s.Match[i]
		is := c.Part.String() + " is " + ShownValue(c.Part, r)
		all = append(all, findingOf(c.Holds(r), is, is+", not among "+ShortList(c.Words)))
	}
	return all
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

func patternFinding(field string, all []Pattern, found *Pattern, path string) finding {
	subject := field + " " + Display(path)
	if found != nil {
		return finding{true, subject + " matches " + found.Text}
	}
	patterns := make([]string, len(all))
	for i := range all {
		patterns[i] = all[i].Text
	}
	return finding{false, subject + " does not match " + ShortList(patterns)}
}

func (s *Selector) addrFinding(addr netip.Addr) finding {
	if !addr.IsValid() {
		return finding{false, "the address is not known"}
	}
	networks := make([]string, len(s.CIDRs))
	for i, c := range s.CIDRs {
		if c.Contains(addr) {
			return finding{true, fmt.Sprintf("address %s is in %s", addr, c)}
		}
		networks[i] = c.String()
	}
	return finding{false, fmt.Sprintf("address %s is not in %s", addr, ShortList(networks))}
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

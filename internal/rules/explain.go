package rules

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Why explains Matches: for a request that the rule does not match, the reason is
// the first field that does not hold. For one that it matches, the reason is
// empty, or says why unless did not exempt a request that differs from it only
// in letter case or in the form of its path.
func (r *Rule) Why(req *Request) (reason string, covered bool) {
	if r.Mode == Off {
		return "it is off", false
	}
	if left, ok := r.when.explain(req, false); !ok {
		return left, false
	}
	if r.unless == nil {
		return "", true
	}
	reason, lifted := r.unless.explain(req, true)
	switch {
	case lifted:
		return "unless: " + reason, false
	case r.unless.covers(req):
		return "unless does not hold: " + reason, true
	}
	return "", true
}

// WhyAmbiguous explains Ambiguous: the reason names the part of the path that is
// ambiguous, and the setting that decides.
func (s *Set) WhyAmbiguous(r *Request) (reason string, ambiguous bool) {
	if !s.Ambiguous(r) {
		return "", false
	}
	return "path " + display(r.Path) + " " + r.work().whyAmbiguous() + ", and ambiguous_paths is deny", true
}

// whyAmbiguous says what makes the path ambiguous: "has a semicolon in a;b".
func (f *facts) whyAmbiguous() string {
	if f.ambiguity.Segment == "" {
		return "has " + f.ambiguity.Kind
	}
	return "has " + f.ambiguity.Kind + " in " + display(f.ambiguity.Segment)
}

// WhyBanned explains Banned: the reason is the entry of deny that matches, and
// the fields that do.
func (s *Set) WhyBanned(r *Request) (reason string, banned bool) {
	for i := range s.deny {
		if reason, covers := s.deny[i].explain(r, false); covers {
			return fmt.Sprintf("deny[%d]: %s", i, reason), true
		}
	}
	return "", false
}

// WhySkipped explains Skipped. For a request that is not skipped, the reason is
// the first entry from which it differs only in letter case or in the form of
// its path; empty if there is none.
func (s *Set) WhySkipped(r *Request) (reason string, skipped bool) {
	for i := range s.skip {
		why, covers := s.skip[i].explain(r, true)
		if covers {
			return fmt.Sprintf("skip[%d]: %s", i, why), true
		}
		if reason == "" && s.skip[i].covers(r) {
			reason = fmt.Sprintf("skip[%d] does not cover it: %s", i, why)
		}
	}
	return reason, false
}

// WhyPlan explains Plan, as in "jwt.plan is pro". It is empty if the document has
// no plans.
func (s *Set) WhyPlan(r *Request) string {
	if s.plan.from.source == literal {
		return ""
	}
	value := s.plan.from.shown(r)
	if value != missing && s.Plan(r) == "" {
		value += ", which is no plan"
	}
	return s.plan.from.spell() + " is " + value
}

// Caller returns what the gateway knows of the caller: "anonymous", "known" or
// "rejected".
func (r *Request) Caller() string { return r.caller().names()[0] }

// explain returns the first field that does not hold, else all stated fields. It
// agrees with covers, or with coversExactly.
func (s *selector) explain(r *Request, exactly bool) (reason string, covers bool) {
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
func (s *selector) findings(r *Request, exactly bool) (all []finding) {
	f := r.work()
	if exactly && !f.exact && s.byPath() {
		all = append(all, finding{false, "path " + display(r.Path) + " " + f.whyNotExact(r.Path)})
	}
	if len(s.methods) > 0 {
		method := display(r.Method)
		all = append(all, findingOf(s.hasMethod(r.Method, !exactly), "method is "+method, "method "+method+" is not among "+list(s.methods)))
	}
	if len(s.routes) > 0 {
		all = append(all, s.routeFinding(f, exactly))
	}
	if len(s.paths) > 0 {
		all = append(all, pathFinding("path", s.paths, f, exactly))
	}
	if len(s.cidrs) > 0 {
		all = append(all, s.addrFinding(f.addr))
	}
	if s.callers != 0 {
		who := r.Caller()
		all = append(all, findingOf(s.callers&r.caller() != 0, "caller is "+who, "caller is "+who+", not "+strings.Join(s.callers.names(), " or ")))
	}
	for i := range s.match {
		c := &s.match[i]
		is := c.part.spell() + " is " + c.part.shown(r)
		all = append(all, findingOf(c.holds(r), is, is+", not among "+list(c.words)))
	}
	return all
}

// whyNotExact says why nothing that lifts limits matches the path.
func (f *facts) whyNotExact(raw string) string {
	if f.path != raw {
		return "is not sent in its clean form, " + display(f.path)
	}
	return f.whyAmbiguous()
}

func (s *selector) routeFinding(f *facts, exactly bool) finding {
	switch {
	case f.template == "":
		return pathFinding("route", s.routes, f, exactly)
	case exactly:
		return globFinding("route", s.routes, firstExactMatch(s.routes, &f.route), f.template)
	}
	return globFinding("route", s.routes, firstMatch(s.routes, &f.route), f.template)
}

func pathFinding(field string, globs []glob, f *facts, exactly bool) finding {
	if exactly {
		return globFinding(field, globs, firstExactMatch(globs, &f.variants[0]), f.path)
	}
	return globFinding(field, globs, f.match(globs), f.path)
}

func globFinding(field string, globs []glob, match *glob, path string) finding {
	subject := field + " " + display(path)
	if match != nil {
		return finding{true, subject + " matches " + match.text}
	}
	patterns := make([]string, len(globs))
	for i := range globs {
		patterns[i] = globs[i].text
	}
	return finding{false, subject + " does not match " + list(patterns)}
}

func (s *selector) addrFinding(addr netip.Addr) finding {
	if !addr.IsValid() {
		return finding{false, "the address is not known"}
	}
	networks := make([]string, len(s.cidrs))
	for i, c := range s.cidrs {
		if c.Contains(addr) {
			return finding{true, fmt.Sprintf("address %s is in %s", addr, c)}
		}
		networks[i] = c.String()
	}
	return finding{false, fmt.Sprintf("address %s is not in %s", addr, list(networks))}
}

// names returns the names of the callers.
func (c caller) names() (names []string) {
	for i, name := range callers {
		if c&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// spell returns the source in the form of documents, such as "jwt.plan"; the text
// of a literal.
func (p *part) spell() string {
	for _, s := range sources {
		if s.source != p.source {
			continue
		}
		if s.named {
			return s.word + "." + p.text
		}
		return s.word
	}
	return p.text
}

// shown returns the request's value of a source for people.
func (p *part) shown(r *Request) string {
	if text, ok := p.only(r); ok {
		return display(text)
	}
	if p.source == fromClaim {
		if claim := r.claim(p.text); claim != nil {
			whole, _ := json.Marshal(claim) // it came out of JSON
			return display(string(whole))
		}
	}
	return missing
}

const (
	// missing stands for a value that the request lacks.
	missing = "missing"
	// longestList is how many words a reason names, of a list that may hold thousands.
	longestList = 5
	// longestText is how much of a client's text a reason shows, in bytes.
	longestText = 80
)

func list(words []string) string {
	if more := len(words) - longestList; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:longestList], ", "), more)
	}
	return strings.Join(words, ", ")
}

// display makes a client's text safe for terminals: it quotes all but printable
// ASCII, and shortens long texts.
func display(text string) string {
	more := ""
	if len(text) > longestText {
		text, more = text[:longestText], "…"
	}
	if text == "" || strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' }) {
		return strconv.QuoteToASCII(text) + more
	}
	return text + more
}

package rules

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// The files compile*.go turn documents into a Set. They use the rest of the
// package, which never uses them: a test checks that.

// Compile checks a document and builds the Set that evaluates requests by it.
// The problems are everything that is wrong; there is no Set if there are any.
// The document may come from a file, from JSON or from a Go program.
func Compile(d *ruledoc.Document) (*Set, []problem.Problem) { return CompileWith(d, nil) }

// CompileWith is Compile for a Go program, whose limits are values: limits[i]
// are those of rule i, which states none in the document. The document of the
// Set lacks them, too.
//
// Problems of limits have paths such as "rules[0].limits[1].capacity".
func CompileWith(d *ruledoc.Document, limits [][]GoLimit) (*Set, []problem.Problem) {
	if d == nil {
		d = &ruledoc.Document{}
	}
	c := newCompiler(ruledoc.WithDefaults(d), ruledoc.Check(d))
	c.values = limits
	c.compile()
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	c.set.precompute()
	c.set.document = c.normalized(d)
	return c.set, nil
}

// CompileOverride checks one override, nil for an empty one, and returns it as
// Terms uses it. CheckOverride reports whether a rule can have it.
func CompileOverride(d *ruledoc.Override) (*Override, []problem.Problem) {
	if d == nil {
		d = &ruledoc.Override{}
	}
	c := newCompiler(&ruledoc.Document{}, ruledoc.Check(d))
	o := c.override(nil, ruledoc.OverrideWithDefaults(d))
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	return o, nil
}

// NewUnpublished returns a set in place of rules that were never published.
func NewUnpublished() *Set {
	s, _ := Compile(&ruledoc.Document{Rules: []ruledoc.Rule{}})
	s.Unpublished = true
	return s
}

// compiler builds a Set and collects what is wrong with its document. What
// depends on a value that is wrong is not checked, so that one mistake is
// reported once.
type compiler struct {
	doc      *ruledoc.Document // with defaults
	values   [][]GoLimit       // of rules, in place of those of the document; nil for none
	set      *Set
	trusted  map[*Rule][]key.Part // sources of the client that rules trust
	problems []problem.Problem
	wrong    map[string]bool // paths of problems, and of the values around them
}

// newCompiler returns a compiler of a document with defaults. problems are those
// that ruledoc.Check has found in single fields; they come first in the list.
func newCompiler(d *ruledoc.Document, problems []problem.Problem) *compiler {
	c := &compiler{doc: d, set: &Set{}, trusted: map[*Rule][]key.Part{}, wrong: map[string]bool{}}
	for _, p := range problems {
		c.report(p)
	}
	return c
}

// report adds a problem. It marks the value at its path as wrong, and each value
// around that one, so that isWrong also finds problems inside a value.
func (c *compiler) report(p problem.Problem) {
	c.problems = append(c.problems, p)
	for n := range p.Path {
		c.wrong[p.Path[:n+1].String()] = true
	}
}

// isWrong reports whether a value has problems, or one inside it.
func (c *compiler) isWrong(path problem.Path) bool { return len(c.wrong) > 0 && c.wrong[path.String()] }

// fail reports a problem of the value at a path.
func (c *compiler) fail(path problem.Path, code problem.Code, args ...any) {
	c.report(problem.Problem{Path: path, Fault: problem.New(code, args...)})
}

// failKey reports a problem of the last name in a path.
func (c *compiler) failKey(path problem.Path, code problem.Code, args ...any) {
	c.report(problem.Problem{Path: path, AtKey: true, Fault: problem.New(code, args...)})
}

// check reports the fault of the value at a path, if there is one.
func (c *compiler) check(path problem.Path, wrong problem.Fault) (ok bool) {
	if wrong.Found() {
		c.report(problem.Problem{Path: path, Fault: wrong})
	}
	return !wrong.Found()
}

// compile fills in the set. Keys need the address and the secret, and plans and
// overrides need the rules, so the order of the steps matters.
func (c *compiler) compile() {
	d, s := c.doc, c.set
	s.Unmatched = Policy(indexOf(policies, d.Unmatched))
	s.Stated = d.Defaults.Instances != 0
	s.Instances = int(cmp.Or(d.Defaults.Instances, ruledoc.DefaultInstances))
	s.denyAmbiguous = d.AmbiguousPaths == ruledoc.DenyAmbiguous
	s.Answers = c.answers(d)
	s.address = c.clientAddress(d.ClientIP)
	c.authentication(d.Authentication)
	s.hash = c.keyHash(d.HashSecret)
	s.deny, s.skip = c.selectors(problem.Root("deny"), d.Deny), c.selectors(problem.Root("skip"), d.Skip)
	c.plan(d.Plan)
	c.rules()
	c.plans()
	c.overrides()
	c.checkUnused()
}

// indexOf returns the index of a word; 0 for one that Check has reported.
func indexOf(words []string, word string) int { return max(0, slices.Index(words, word)) }

// checkUnused reports parts of the document that need one another. A part that
// nothing uses is a mistake: its author believes that it works.
func (c *compiler) checkUnused() {
	d, s := c.doc, c.set
	some := append(slices.Clone(d.Rules), ruledoc.Rule{Name: "RULE"}) // for messages
	switch {
	case d.Plan != nil && d.Plan.From != "" && d.Plans == nil:
		c.fail(problem.Root("plan"), problem.Instead, "names the plans of callers, and there are none", "plans: {pro: {"+some[0].Name+": 1000}}")
	case s.hash != nil && !s.OverridesHashed(PlanOverrides) && !slices.ContainsFunc(s.Rules, (*Rule).Hashed):
		c.failKey(problem.Root("hash_secret"), problem.Instead, "is not used", "hash: true in a rule or in plan, or remove it")
	case d.Plans != nil && d.Plan == nil:
		c.fail(problem.Root("plans"), problem.Instead, "no source names the plan of a caller", "plan: {from: jwt.plan}")
	}
}

// normalized returns the canonical form of a good document, with the keys of
// overrides as requests make them, before those are hashed.
func (c *compiler) normalized(d *ruledoc.Document) *ruledoc.Document {
	n := ruledoc.Normalize(d)
	for rule, overrides := range n.Overrides {
		n.Overrides[rule] = make(map[string]ruledoc.Override, len(overrides))
		for key, o := range overrides {
			key, _ = c.set.overrideKeys(rule).Read(key) // no error: Compile has read it
			n.Overrides[rule][key] = o
		}
	}
	return n
}

// nameForm is what names of a kind look like.
type nameForm struct {
	pattern func() *regexp.Regexp
	longest int          // in characters
	taken   problem.Code // of a name that another has
}

var (
	ruleName  = nameForm{ruledoc.Pattern(ruledoc.Rule{}, "name"), 63, problem.RuleNameTaken}
	limitName = nameForm{ruledoc.Pattern(ruledoc.Limit{}, "name"), 31, problem.LimitNameTaken}
)

// name checks the name of the value at a path and takes it. taken has what has
// each name so far; nil if several may have the same name.
func (c *compiler) name(path problem.Path, field, name string, form nameForm, taken map[string]problem.Path) {
	switch other, ok := taken[name]; {
	case name == "": // Check reports names that are missing
	case !form.pattern().MatchString(name):
		use := fmt.Sprintf("1 to %d lower-case letters, digits and hyphens, a letter or digit first", form.longest)
		if slug := ruledoc.Slug(name, form.longest); slug != "" {
			use += ", such as " + slug
		}
		c.fail(path.To(field), problem.BadName, name, "name", use)
	case ok:
		c.fail(path.To(field), form.taken, name, other)
	case taken != nil:
		taken[name] = path
	}
}

// Retry-After has whole seconds, so a jitter below one would not show.
const (
	leastJitter = time.Second
	mostJitter  = time.Hour
	longestBody = 2048 // bytes: it is in the context of every denial
)

// mediaType is the form of a Content-Type (RFC 9110, section 8.3.1). plainText is
// ASCII, which means the same in every charset that a Content-Type may name.
var (
	mediaType = ruledoc.Regexp(`^[!#$%&'*+.^_|~0-9A-Za-z-]+/[!#$%&'*+.^_|~0-9A-Za-z-]+( *; *[!#$%&'*+.^_|~0-9A-Za-z-]+=[!#$%&'*+.^_|~0-9A-Za-z-]+)*$`)
	plainText = ruledoc.Regexp(`^[\t\n\r -~]*$`)
)

// answers compiles what clients learn of decisions.
func (c *compiler) answers(d *ruledoc.Document) Answers {
	a := Answers{Fields: Fields(indexOf(fieldNames, d.Headers))}
	if d.RetryJitter != "" {
		jitter, ok := ruledoc.ParseDuration(d.RetryJitter)
		if !ok || jitter < leastJitter || jitter > mostJitter || jitter%time.Second != 0 {
			c.fail(problem.Root("retry_jitter"), problem.Malformed, strconv.Quote(d.RetryJitter), "time from 1s to 1h in whole seconds", "one such as 10s")
		}
		a.RetryJitter = jitter
	}
	if a.Denied = d.Denied; d.Denied != nil {
		c.denied(problem.Root("denied"), d.Denied)
	}
	return a
}

// problemMembers are members of problem details that an answer may state. The
// responses of a REST API hold them in JSON, unescaped.
var problemMembers = []struct {
	form            func() *regexp.Regexp
	name, what, use string
}{
	{ruledoc.Pattern(ruledoc.Denied{}, "type"), "type", "URI of a problem type",
		"one such as https://example.com/problems/month-spent, and a media type as content_type"},
	{ruledoc.Pattern(ruledoc.Denied{}, "title"), "title", `plain ASCII of at most 300 characters without ", \, <, >, { and }`, "a title without them"},
	{ruledoc.Pattern(ruledoc.Denied{}, "detail"), "detail", `plain ASCII of at most 300 characters without ", \, < and >`, "a detail without them"},
}

// denied checks the answer to denied requests. It reports one mistake of its
// type and body at most, and one of each other text.
func (c *compiler) denied(path problem.Path, d *ruledoc.Denied) {
	switch {
	case *d == (ruledoc.Denied{}):
		c.fail(path, problem.Empty, "a status, or a content_type and a body, or remove it")
	case d.Body != "" && d.ContentType == "":
		c.fail(path, problem.Instead, "has a body of unknown type", "content_type: application/json, or another type")
	case d.ContentType != "" && !mediaType().MatchString(d.ContentType):
		c.fail(path.To("content_type"), problem.Malformed, strconv.Quote(d.ContentType), "media type", "one such as application/json or text/html; charset=utf-8")
	case len(d.Body) > longestBody:
		c.fail(path.To("body"), problem.TooLong, len(d.Body), longestBody)
	case !plainText().MatchString(d.Body):
		c.fail(path.To("body"), problem.Instead, "has other characters than plain ASCII", `them as \u00e9 in JSON, or as &eacute; in HTML`)
	}
	for i, text := range []string{d.Type, d.Title, d.Detail} {
		if m := problemMembers[i]; text != "" && !m.form().MatchString(text) {
			c.fail(path.To(m.name), problem.Malformed, strconv.Quote(text), m.what, m.use)
		}
	}
	c.variables(path.To("body"), d.Body, BodyVariables)
	c.variables(path.To("detail"), d.Detail, BodyVariables[:len(BodyVariables)-1])
}

// variables reports the first unknown variable of a text.
func (c *compiler) variables(path problem.Path, text string, known []string) {
	for _, v := range bodyVariable().FindAllString(text, -1) {
		if !slices.Contains(known, v[1:len(v)-1]) {
			c.fail(path, problem.UnknownWord, v, "there are {"+strings.Join(known, "}, {")+"}")
			return
		}
	}
}

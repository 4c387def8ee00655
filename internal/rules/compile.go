package rules

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/key"
)

// Compile checks a document and builds the Set that evaluates requests by it.
// The problems are everything that is wrong; there is no Set if there are any.
// The document may come from a file, from JSON or from a Go program.
func Compile(d *ruledoc.Document) (*Set, []ruledoc.Problem) {
	if d == nil {
		d = &ruledoc.Document{}
	}
	c := newCompiler(ruledoc.WithDefaults(d), ruledoc.Check(d))
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
func CompileOverride(d *ruledoc.Override) (*Override, []ruledoc.Problem) {
	if d == nil {
		d = &ruledoc.Override{}
	}
	c := newCompiler(&ruledoc.Document{}, ruledoc.Check(d))
	o := c.override("", ruledoc.OverrideWithDefaults(d))
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	return o, nil
}

// compiler builds a Set and collects what is wrong with its document.
type compiler struct {
	doc      *ruledoc.Document // with defaults
	set      *Set
	trusted  map[*Rule][]key.Part // sources of the client that rules trust
	problems []ruledoc.Problem
	wrong    map[string]bool // paths of problems, and of the values around them
}

func newCompiler(d *ruledoc.Document, problems []ruledoc.Problem) *compiler {
	c := &compiler{doc: d, set: &Set{}, trusted: map[*Rule][]key.Part{}, wrong: map[string]bool{}}
	for _, p := range problems {
		c.report(p)
	}
	return c
}

func (c *compiler) report(p ruledoc.Problem) {
	c.problems = append(c.problems, p)
	for path := p.Path; path != ""; path = path[:max(0, strings.LastIndexAny(path, ".["))] {
		c.wrong[path] = true
	}
}

// fail reports a problem of the value at a path.
func (c *compiler) fail(path, format string, args ...any) {
	c.report(ruledoc.Problem{Path: path, Reason: fmt.Sprintf(format, args...)})
}

// check reports the problem of the value at a path, unless it is empty.
func (c *compiler) check(path, problem string) (ok bool) {
	if problem != "" {
		c.fail(path, "%s", problem)
	}
	return problem == ""
}

// failKey reports a problem of the last name in a path.
func (c *compiler) failKey(path, format string, args ...any) {
	c.report(ruledoc.Problem{Path: path, AtKey: true, Reason: fmt.Sprintf(format, args...)})
}

func (c *compiler) compile() {
	d, s := c.doc, c.set
	s.Unmatched = Policy(indexOf(policies, d.Unmatched))
	s.Instances = int(d.Defaults.Instances)
	s.denyAmbiguous = d.AmbiguousPaths == ruledoc.DenyAmbiguous
	s.Answers = c.answers(d)
	s.address = c.clientAddress(d.ClientIP)
	c.authentication(d.Authentication)
	s.hash = c.keyHash(d.HashSecret)
	s.deny, s.skip = c.selectors("deny", d.Deny), c.selectors("skip", d.Skip)
	c.plan(d.Plan)
	c.rules()
	c.plans()
	c.overrides()
	c.checkUnused()
}

// indexOf returns the index of a word; 0 for one that Check has reported.
func indexOf(words []string, word string) int { return max(0, slices.Index(words, word)) }

// checkUnused reports parts of the document that need one another.
func (c *compiler) checkUnused() {
	d, s := c.doc, c.set
	switch {
	case d.Plan != nil && d.Plan.From != "" && d.Plans == nil:
		c.fail("plan", "names the plans of callers, and there are none: write plans: {pro: {RULE: CAPACITY}}")
	case s.hash != nil && !s.OverridesHashed(PlanOverrides) && !slices.ContainsFunc(s.Rules, (*Rule).Hashed):
		c.failKey("hash_secret", "is not used: write hash: true in a rule or in plan, or remove it")
	case d.Plans != nil && d.Plan == nil:
		c.fail("plans", "no source names the plan of a caller: write plan: {from: jwt.plan}")
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
	longest int    // in characters
	another string // what to write in place of a name that is taken
}

var (
	ruleName  = nameForm{ruledoc.Pattern(ruledoc.Rule{}, "name"), 63, "write a name of its own"}
	limitName = nameForm{ruledoc.Pattern(ruledoc.Limit{}, "name"), 31, "write a name of its own, such as {name: burst, capacity: 20, window: 1s}"}
)

// name checks a name and takes it. taken has the paths of what has each name so
// far; nil if several may have the same name.
func (c *compiler) name(path, name string, form nameForm, taken map[string]string) {
	switch other, ok := taken[name]; {
	case name == "": // Check reports names that are missing
	case !form.pattern().MatchString(name):
		c.fail(path, "%q cannot be a name: use 1 to %d lower-case letters, digits and hyphens, a letter or digit first", name, form.longest)
	case ok:
		c.fail(path, "%q is the name of %s too: %s", name, other, form.another)
	case taken != nil:
		taken[name] = strings.TrimSuffix(path, ".name")
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

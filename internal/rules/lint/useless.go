package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/request/urlpath"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// oneCounter is the key that says that one counter is meant for all requests.
const oneCounter = "all"

// checkKey warns about a key that is the same text for every request, and about
// a $ before a source.
func (c *checker) checkKey(path problem.Path, text string) {
	t, _ := key.Parse(text)
	isSource := func(p key.Part) bool { return p.Kind != key.Literal }
	bare := strings.Trim(text, "$<>[]()")
	switch _, wrong := key.ParseSource(bare); {
	case strings.Contains(text, "${"):
		c.warn(path, problem.DollarText, strings.ReplaceAll(text, "${", "{"))
	case text == oneCounter || slices.ContainsFunc(t.Parts, isSource):
	case !wrong.Found():
		c.warn(path, problem.BareSource, text, bare)
	case key.Meant(bare) != "":
		c.warn(path, problem.BareSource, text, key.Meant(bare))
	default:
		c.warn(path, problem.ConstantKey, oneCounter)
	}
}

// checkSelector warns about what no request, or hardly one, can have.
func (c *checker) checkSelector(path problem.Path, s *ruledoc.Selector) {
	if s == nil {
		return
	}
	for i, method := range s.Methods {
		if m := strings.ToUpper(method); !slices.Contains(methods, m) {
			c.warn(path.To("methods").At(i), problem.UnusualMethod, m, ruledoc.Suggest(m, methods[:usualMethods], "write", "or"))
		}
	}
	for i, text := range s.Route {
		c.checkPattern(path.To("route").At(i), text)
	}
	for i, text := range s.Path {
		c.checkPattern(path.To("path").At(i), text)
	}
}

// methods are those of HTTP, the usual ones first.
var methods = strings.Fields("GET POST PUT PATCH DELETE HEAD OPTIONS CONNECT TRACE QUERY")

const usualMethods = 7

// foreign matches what has a meaning in patterns of other programs, and none here:
// regular expressions, and parameters such as :id, <int:id> and [id].
var foreign = ruledoc.Regexp(`\.[*+]|[\[\]<>|\\]|\$$|/:\w`)

// checkPattern warns about a pattern that means another thing elsewhere.
func (c *checker) checkPattern(path problem.Path, text string) {
	if end := strings.IndexAny(text, "?#"); end >= 0 {
		c.warn(path, problem.BadPattern, text, "a path ends before a ? or a #", text[:end]+", or * for any text in a segment")
	} else if foreign().MatchString(strings.ReplaceAll(text, "*.*", "*")) { // *.* is a pattern of its own
		c.warn(path, problem.BadPattern, text, urlpath.NoRegexp, urlpath.FromRegexp(text))
	}
}

// checkReach warns about a rule that limits nothing, because its selectors or
// skip leave out all that it covers, or because requests cost nothing. A rule
// of cost 0 with overrides may limit only their keys.
func (c *checker) checkReach(i int) {
	r, path := &c.doc.Rules[i], problem.Root("rules").At(i)
	if r.Unless != nil && coversAll(r.Unless, r.When) {
		c.warn(path.To("unless"), problem.LimitsNothing)
	}
	if j := slices.IndexFunc(c.author.Skip, func(s ruledoc.Selector) bool { return coversAll(&s, r.When) }); j >= 0 {
		c.warn(path, problem.SkippedWhole, problem.Root("skip").At(j))
	}
	costs := c.set.Rules[i].Costs
	if r.Overrides == nil && !slices.ContainsFunc(costs, func(cost rules.Cost) bool { return cost.Max > 0 }) {
		_, costAt := c.paths(i, 0)
		c.warn(costAt, problem.CostsNothing)
	}
}

// checkShown warns about members of problem details that are stated beside a body
// which does not show them. whole is the answer of a rule, nil for that of the
// document.
func (c *checker) checkShown(path problem.Path, stated, whole *ruledoc.Denied) {
	body := cmp.Or(whole, c.author.Denied, &ruledoc.Denied{}).Body
	if stated == nil || body == "" {
		return
	}
	for _, member := range [][3]string{
		{"type", stated.Type, "problemType"}, {"title", stated.Title, "problemTitle"}, {"detail", stated.Detail, "problemDetail"},
	} {
		if member[1] != "" && !strings.Contains(body, "{"+member[2]+"}") {
			c.warn(path.To(member[0]), problem.UnshownMember, member[2])
		}
	}
}

// coversAll reports whether a selector plainly matches every request that
// another matches; nil matches all. Patterns and networks count if they are
// equal, or if they match everything. Root fields never do: an operation may have
// others beside them.
func coversAll(s, other *ruledoc.Selector) bool {
	if other == nil {
		other = &ruledoc.Selector{}
	}
	all := func(words, others []string, everything ...string) bool {
		return len(words) == 0 || containsAll(words, everything) || len(others) > 0 && containsAll(words, others)
	}
	for source, words := range s.Match {
		if source == "graphql.fields" || !all(words, other.Match[source]) {
			return false
		}
	}
	return all(s.Methods, other.Methods) && all(s.Route, other.Route, "/**") && all(s.Path, other.Path, "/**") &&
		all(s.CIDRs, other.CIDRs, "0.0.0.0/0", "::/0") && all(s.Caller, other.Caller, request.Anonymous, request.Known, request.Rejected)
}

func containsAll(list, words []string) bool {
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(list, w) })
}

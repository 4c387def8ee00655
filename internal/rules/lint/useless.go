package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/urlpath"
)

// oneCounter is the key that says that one counter is meant for all requests.
const oneCounter = "all"

// checkKey warns about a key that is the same text for every request, and about
// a $ before a source.
func (c *checker) checkKey(path, text string) {
	t, _ := key.Parse(text)
	isSource := func(p key.Part) bool { return p.Kind != key.Literal }
	bare := strings.Trim(text, "$<>[]()")
	switch _, problem := key.ParseSource(bare); {
	case strings.Contains(text, "${"):
		c.warn(path, "$ is text of the key, and no part of a source: write %s", strings.ReplaceAll(text, "${", "{"))
	case text == oneCounter || slices.ContainsFunc(t.Parts, isSource):
	case problem == "":
		c.warn(path, "%s without braces is text, so all requests share one counter: write \"{%s}\"", text, bare)
	default:
		c.warn(path, "no source is in it, so all requests share one counter: write one such as \"ip:{ip}\", or %s if that is meant", oneCounter)
	}
}

// checkSelector warns about what no request, or hardly one, can have.
func (c *checker) checkSelector(path string, s *ruledoc.Selector) {
	if s == nil {
		return
	}
	for i, method := range s.Methods {
		if m := strings.ToUpper(method); !slices.Contains(methods, m) {
			c.warn(ruledoc.Index(path+".methods", i), "HTTP has no method %s: %s", m, ruledoc.Suggest(m, methods[:usualMethods], "write", "or"))
		}
	}
	for i, text := range s.Route {
		c.checkPattern(ruledoc.Index(path+".route", i), text, "{%s}")
	}
	for i, text := range s.Path {
		c.checkPattern(ruledoc.Index(path+".path", i), text, "*")
	}
}

// methods are those of HTTP and of WebDAV, the usual ones first.
var methods = strings.Fields("GET POST PUT PATCH DELETE HEAD OPTIONS CONNECT TRACE QUERY " +
	"PROPFIND PROPPATCH MKCOL COPY MOVE LOCK UNLOCK REPORT SEARCH MKCALENDAR ACL LINK UNLINK PURGE")

const usualMethods = 7

var (
	regexpPart = regexp.MustCompile(`\.[*+]|\[[^\]]+\][*+]|\\[dw]|\$$`)
	colonPart  = regexp.MustCompile(`/:(\w+)`)
)

// checkPattern warns about a pattern that means another thing elsewhere.
// parameter is how a parameter of a path is written here.
func (c *checker) checkPattern(path, text, parameter string) {
	if before, _, query := strings.Cut(text, "?"); query {
		c.warn(path, "pattern %q: a ? begins the query, which no path holds: write %s, or * for any text in a segment", text, before)
	} else if regexpPart.MatchString(text) {
		c.warn(path, "pattern %q: a pattern is no regular expression, and all but * is text: write %s", text, urlpath.FromRegexp(text))
	} else if found := colonPart.FindStringSubmatch(text); found != nil {
		if strings.Contains(parameter, "%") {
			parameter = fmt.Sprintf(parameter, found[1])
		}
		c.warn(path, "pattern %q: a parameter is not written with a colon, which is text: write %s", text, strings.Replace(text, ":"+found[1], parameter, 1))
	}
}

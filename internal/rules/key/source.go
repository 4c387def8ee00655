// Package key makes the keys of counters and overrides out of requests, reads
// them back from what people write, and hashes them.
package key

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/ruledoc"
)

// Kind is where a part of a key comes from.
type Kind uint8

// The kinds of parts: the text of the template, and the sources of a request.
const (
	Literal Kind = iota // the template's own text
	FromIP
	FromHeader
	FromQuery
	FromPath
	FromMethod
	FromRoute
	FromStage
	FromClaim
	FromAPIKey
	FromCountry
	FromASN
)

// sources are what a template can name. Sources of the gateway and signed
// claims can be trusted. The client fills in the others, and can make up a new
// value for every request.
var sources = [...]struct {
	word   string
	named  bool // written with a name, as in {header.x-user}
	client bool
}{
	FromIP:     {"ip", false, false},
	FromClaim:  {"jwt", true, false},
	FromAPIKey: {"apikey", false, false},
	FromHeader: {"header", true, true},
	FromQuery:  {"query", true, true},
	FromPath:   {"path", true, true},
	FromMethod: {"method", false, true},
	FromRoute:  {"route", false, false},
	FromStage:  {"stage", false, false},

	FromCountry: {"country", false, false},
	FromASN:     {"asn", false, false},
}

// aliases are what other programs call the sources.
var aliases = map[string]string{
	"client_ip": "ip", "clientip": "ip", "remote_addr": "ip", "remote_address": "ip", "source_ip": "ip", "address": "ip",
	"api_key": "apikey", "x-api-key": "apikey", "key": "apikey",
	"user": "jwt.sub", "user_id": "jwt.sub", "sub": "jwt.sub", "claim": "jwt", "claims": "jwt", "token": "jwt",
	"headers": "header", "params": "path", "args": "query",
}

const sourcesKnown = "{ip}, {jwt.NAME}, {apikey}, {header.NAME}, {query.NAME}, {path.NAME}, {method}, {route}, {stage}, {country} and {asn}"

// Part is a piece of a key: text of its own, or the value of a source.
type Part struct {
	Kind Kind
	Text string // the literal, or the name of the header, query or path parameter, or claim; of {ip/128}, the 128
}

// parseBraced reads a source as keys have it between braces, such as
// "header.x-user". The problem says what to write instead.
func parseBraced(text string) (p Part, problem string) {
	if bits, ok := strings.CutPrefix(text, "ip/"); ok {
		return parsePrefix(bits)
	}
	word, name, dotted := strings.Cut(text, ".")
	words := make([]string, len(sources))
	for kind, s := range sources {
		words[kind] = s.word
	}
	p.Kind = Kind(max(0, slices.Index(words, word)))
	named := sources[p.Kind].named
	switch {
	case p.Kind == Literal:
		meant := cmp.Or(aliases[strings.ToLower(word)], ruledoc.Closest(word, words))
		if strings.HasPrefix(strings.ToLower(word), "x-") {
			meant = cmp.Or(meant, "header."+strings.ToLower(word))
		}
		if meant != "" {
			return p, fmt.Sprintf("unknown source {%s}: did you mean {%s}?", text, strings.Replace(text, word, meant, 1))
		}
		return p, fmt.Sprintf("unknown source {%s}: there are %s", text, sourcesKnown)
	case !named && dotted:
		return p, fmt.Sprintf("{%s} takes no name: write {%s}", text, word)
	case named && name == "":
		return p, fmt.Sprintf("{%s} needs a name: write {%s.NAME}", text, word)
	case p.Kind == FromHeader && !request.IsToken(name):
		return p, fmt.Sprintf("{%s} is no header: write a name such as {header.x-user}", text)
	case strings.ContainsRune(name, '{'):
		return p, fmt.Sprintf("{%s is never closed: write } after the name", text)
	case p.Kind == FromHeader:
		name = strings.ToLower(name)
	}
	p.Text = name
	return p, ""
}

// IsClient reports whether the client fills in the source: it can make up a
// new value for every request.
func (k Kind) IsClient() bool { return sources[k].client }

// WithoutBraces turns a message about a source in a key into one about a source
// that stands by itself.
var WithoutBraces = strings.NewReplacer("{", "", "}", "")

// ParseSource reads a source that stands by itself, such as header.x-tokens.
func ParseSource(text string) (p Part, problem string) {
	if inside := WithoutBraces.Replace(text); inside != text {
		return Part{}, "a source has braces in keys alone: write " + inside
	}
	p, problem = parseBraced(text)
	return p, WithoutBraces.Replace(problem)
}

// ParseTrusted reads a source that decides what a caller may do: one that is
// signed or set by the gateway. Any client could write the others.
func ParseTrusted(text string) (p Part, problem string) {
	p, problem = ParseSource(text)
	switch {
	case problem != "":
		return Part{}, problem
	case p.Kind == FromClaim || p.Kind == FromAPIKey || p.Kind == FromStage:
		return p, ""
	case p.Kind.IsClient():
		return Part{}, text + " can be set by any client: use a claim such as jwt.plan, apikey or stage"
	}
	return Part{}, text + " does not tell callers apart: use a claim such as jwt.plan, apikey or stage"
}

// ParseStated reads a source of an identifier that another system checks: one of
// verified credentials, or a header.
func ParseStated(text string) (p Part, problem string) {
	if p, problem = ParseSource(text); problem == "" && !p.OfCredentials() && p.Kind != FromHeader {
		problem = text + " is no credential: use a claim such as jwt.usage_key, apikey, or a header such as header.x-api-key"
	}
	return p, problem
}

// ParseCompared reads a source that match compares: one that is trusted, or a
// fact of the viewer.
func ParseCompared(text string) (p Part, problem string) {
	if p, problem = ParseSource(text); problem == "" && p.OfViewer() {
		return p, ""
	}
	return ParseTrusted(text)
}

// OfViewer reports whether CloudFront states the source.
func (p Part) OfViewer() bool { return p.Kind == FromCountry || p.Kind == FromASN }

// OfCredentials reports whether the source is part of verified credentials.
func (p Part) OfCredentials() bool { return p.Kind == FromClaim || p.Kind == FromAPIKey }

// String returns the source in the form of documents, such as "jwt.plan"; the
// text of a literal.
func (p Part) String() string {
	switch {
	case p.Kind == Literal:
		return p.Text
	case sources[p.Kind].named:
		return sources[p.Kind].word + "." + p.Text
	case p.Kind == FromIP && p.Text != "":
		return "ip/" + p.Text
	}
	return sources[p.Kind].word
}

// Value returns the one value that the request has for a source. ok is false if
// it has none, several, or a value that is no text. The route and the address
// have forms of their own in keys, and none here.
func (p *Part) Value(r *request.Request) (text string, ok bool) {
	var values []string
	switch p.Kind {
	case FromClaim:
		return request.Plain(r.Claim(p.Text))
	case FromAPIKey:
		if r.Rejected {
			return "", false
		}
		return r.APIKey, r.APIKey != ""
	case FromHeader:
		values = r.Header(p.Text)
	case FromQuery:
		values = r.Query[p.Text]
	case FromPath:
		text, ok = r.PathParams[p.Text]
		return text, ok
	case FromMethod:
		return r.Method, true
	case FromStage:
		return r.Stage, r.Stage != ""
	case FromCountry:
		return r.Country, r.Country != ""
	case FromASN:
		return r.ASN, r.ASN != ""
	case Literal:
		return p.Text, true
	}
	if len(values) != 1 {
		return "", false
	}
	return values[0], true
}

// Each calls yield with every text that a condition on the source compares,
// case-sensitively: the entries of a claim that is a list, the words of scope,
// which spaces separate (RFC 8693, section 4.2), else the one value.
func (p *Part) Each(r *request.Request, yield func(text string)) {
	if p.Kind == FromClaim {
		switch list := r.Claim(p.Text).(type) {
		case []any:
			for _, entry := range list {
				if text, ok := request.Plain(entry); ok {
					yield(text)
				}
			}
		case []string: // of a Go program
			for _, text := range list {
				yield(text)
			}
		}
	}
	switch text, ok := p.Value(r); {
	case !ok:
	case p.Kind == FromClaim && (p.Text == "scope" || p.Text == "/scope"):
		for word := range strings.FieldsSeq(text) {
			yield(word)
		}
	default:
		yield(text)
	}
}

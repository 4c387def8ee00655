// Package key makes the keys of counters and overrides out of requests, reads
// them back from what people write, and hashes them.
package key

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// Kind is where a part of a key comes from.
type Kind uint8

// The kinds of parts: the text of the template, and the sources of a request in
// the order in which messages list them.
const (
	Literal Kind = iota // the template's own text
	FromIP
	FromClaim
	FromAPIKey
	FromHeader
	FromQuery
	FromPath
	FromMethod
	FromRoute
	FromStage
	FromCountry
	FromASN
	FromOperationType
	FromOperationName
	FromRootFields
)

// sources are what a template can name. Sources of the gateway and signed
// claims can be trusted. The client fills in the others, and can make up a new
// value for every request.
//
// also has what names may hold beside letters and digits. It leaves out what
// people join sources with, such as | and a comma: a source with a fallback would
// be read as a name that no request has, and count all callers together.
var sources = [...]struct {
	word   string
	also   string // no name at all if it is empty
	client bool
}{
	// Literal is the kind of unknown words, which may be sources of other programs.
	Literal:    {"", `-_.~:/#@$%[]<>()*'"=!`, false},
	FromIP:     {"ip", "", false},
	FromClaim:  {"jwt", "-_.~:/#@$%", false}, // URIs, "cognito:groups" and JSON Pointers
	FromAPIKey: {"apikey", "", false},
	FromHeader: {"header", "-_.~!#$%^", true}, // a token (RFC 9110), without |&+*, quotes and backticks
	FromQuery:  {"query", "-_.~:$@[]", true},  // what API Gateway takes (:._$-), and filter[name]
	FromPath:   {"path", "-_.:$", true},       // what API Gateway takes
	FromMethod: {"method", "", true},
	FromRoute:  {"route", "", false},
	FromStage:  {"stage", "", false},

	FromCountry: {"country", "", false},
	FromASN:     {"asn", "", false},

	// Clients name operations and combine fields as they like.
	FromOperationType: {"graphql.type", "", false},
	FromOperationName: {"graphql.name", "", true},
	FromRootFields:    {"graphql.fields", "", true},
}

// outside returns the first text that cannot be in a name of a source of this
// kind; "" for none. Names of queries and claims may have letters of any script.
func (k Kind) outside(name string) string {
	if strings.Contains(name, ":-") { // a default in shells
		return ":-"
	}
	for _, c := range name {
		letter := '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' ||
			c >= utf8.RuneSelf && k != FromHeader && k != FromPath && unicode.In(c, unicode.L, unicode.M, unicode.Nd)
		if !letter && !strings.ContainsRune(sources[k].also, c) {
			return string(c)
		}
	}
	return ""
}

// IsHeader reports whether a text can be the name of a header.
func IsHeader(name string) bool { return name != "" && FromHeader.outside(name) == "" }

// aliases are what other programs call the sources.
var aliases = map[string]string{
	"client_ip": "ip", "clientip": "ip", "remote_addr": "ip", "remote_address": "ip", "source_ip": "ip", "address": "ip",
	"api_key": "apikey", "x-api-key": "apikey", "key": "apikey",
	"binary_remote_addr": "ip", "x-forwarded-for": "ip", "x-real-ip": "ip", "ip_address": "ip", "remote_ip": "ip", "realip_remote_addr": "ip",
	"host": "header.host", "hostname": "header.host", "domain": "header.host", "user_agent": "header.user-agent", "useragent": "header.user-agent",
	"uri": "route", "url": "route", "request_uri": "route", "endpoint": "route",
	"user": "jwt.sub", "consumer": "jwt.sub", "user_id": "jwt.sub", "sub": "jwt.sub", "claim": "jwt", "claims": "jwt", "token": "jwt",
	"headers": "header", "params": "path", "args": "query",
	"operation": "graphql.type", "operation_type": "graphql.type", "graphql.kind": "graphql.type", "graphql.operation": "graphql.type",
	"operation_name": "graphql.name", "operationname": "graphql.name", "graphql.operationname": "graphql.name",
	"graphql": "graphql.fields", "graphql.field": "graphql.fields", "fields": "graphql.fields", "root_fields": "graphql.fields",
}

// Part is a piece of a key: text of its own, or the value of a source.
type Part struct {
	Kind Kind
	Text string // the literal, or the name of the header, query or path parameter, or claim; of {ip/128}, the 128
}

// Meant returns the source of a word that other programs use; "" for none.
func Meant(word string) string { return aliases[strings.ToLower(word)] }

// unread are parts of a request that no source reads.
var unread = map[string]string{"cookie": "cookies", "cookies": "cookies", "set-cookie": "cookies", "authorization": "parts of tokens",
	"body": "bodies", "json": "bodies", "form": "bodies"}

// insteadOfUnread says what to write for a part of a request that no source
// reads, such as {header.cookie.session}; "" for anything else. A source may
// read such a header as a whole.
func insteadOfUnread(text string, quote func(string) string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return strings.ContainsRune(`.:/[]()='"`, c) })
	words = append(words, "", "", "")
	whole := words[0] == "authorization" // which {header.authorization} may mean
	if words[0] == "header" || words[0] == "headers" {
		words, whole = words[1:], true
	}
	what := unread[words[0]]
	if what == "" || words[1] == "" && whole {
		return ""
	}
	return "rules read no " + what + ": write " + quote("jwt.sub") + " for verified callers, or " +
		quote("header.x-"+cmp.Or(words[1], "NAME")) + " if a header holds the value"
}

// parseSource reads a source such as "header.x-user". A fault quotes it, and
// what to write instead, as quote writes a source: keys have braces around it.
func parseSource(text string, quote func(string) string) (p Part, wrong problem.Fault) {
	word, name, dotted := strings.Cut(text, ".")
	if word == "graphql" { // whose sources have no names of their own
		word, name, dotted = text, "", false
	}
	for kind, s := range sources {
		if s.word == word {
			p.Kind = Kind(kind)
		}
	}
	named := p.Kind.IsNamed()
	instead := func(is, write string) (Part, problem.Fault) {
		return p, problem.New(problem.Instead, quote(text)+" "+is, quote(write))
	}
	no, outside := insteadOfUnread(text, quote), cmp.Or(Literal.outside(word), p.Kind.outside(name))
	bits, isPrefix := strings.CutPrefix(text, "ip/")
	first, _, inside := strings.Cut(name, "/") // of a namespace, such as https: or kubernetes.io
	switch {
	case no != "":
		return p, problem.New(problem.UnknownSource, quote(text), no)
	case outside == "{":
		before, _, _ := strings.Cut(text, "{")
		return p, problem.New(problem.NeverClosed, "{"+before)
	case outside != "":
		return p, problem.New(problem.NotOneSource, quote(text), outside)
	case isPrefix:
		return parsePrefix(bits)
	case p.Kind == Literal:
		return p, problem.New(problem.UnknownSource, quote(text), suggestSource(text, word, quote))
	case !named && dotted:
		return instead("takes no name", word)
	case p.Kind == FromPath && name == "":
		return instead("needs the name of a parameter of the route", word+".NAME")
	case named && name == "":
		return instead("needs a name", word+".NAME")
	case p.Kind == FromClaim && inside && first != "" && !strings.ContainsAny(first, ".:"):
		return instead("has a slash and no namespace before it", "jwt./"+name)
	case p.Kind == FromHeader:
		name = strings.ToLower(name)
	}
	p.Text = name
	return p, wrong
}

// suggestSource says what to write for an unknown source, whose text begins with
// a word.
func suggestSource(text, word string, quote func(string) string) string {
	var words, all []string
	for _, s := range sources[FromIP:] {
		words = append(words, s.word)
		if s.also != "" {
			all = append(all, quote(s.word+".NAME"))
		} else {
			all = append(all, quote(s.word))
		}
	}
	meant := cmp.Or(Meant(word), ruledoc.Closest(word, words))
	if header := strings.ToLower(word); strings.HasPrefix(header, "x-") {
		meant = cmp.Or(meant, "header."+header)
	}
	if meant == "" {
		return "there are " + ruledoc.Enumerate(all, "and")
	}
	// {user.id} is {jwt.sub}, and {claims.id} is {jwt.id}.
	return "did you mean " + quote(strings.Replace(map[bool]string{true: word, false: text}[strings.Contains(meant, ".")], word, meant, 1)) + "?"
}

// IsClient reports whether the client fills in the source: it can make up a
// new value for every request.
func (k Kind) IsClient() bool { return sources[k].client }

// IsNamed reports whether the source is one of several with a name, as in
// {header.x-user}.
func (k Kind) IsNamed() bool { return sources[k].also != "" }

func inBraces(source string) string { return "{" + source + "}" }

// WithoutBraces removes the braces that sources in a key have.
var WithoutBraces = strings.NewReplacer("{", "", "}", "")

// ParseSource reads a source that stands by itself, such as header.x-tokens.
func ParseSource(text string) (p Part, wrong problem.Fault) {
	if inside := WithoutBraces.Replace(text); inside != text {
		return Part{}, problem.New(problem.Instead, "a source has braces in keys alone", inside)
	}
	return parseSource(text, func(source string) string { return source })
}

// ParseTrusted reads a source that decides what a caller may do: one that is
// signed or set by the gateway. Any client could write the others.
func ParseTrusted(text string) (p Part, wrong problem.Fault) {
	const instead = "a claim such as jwt.plan, apikey or stage"
	p, wrong = ParseSource(text)
	switch {
	case wrong.Found():
		return Part{}, wrong
	case p.Kind == FromClaim || p.Kind == FromAPIKey || p.Kind == FromStage:
		return p, wrong
	case p.Kind.IsClient():
		return Part{}, problem.New(problem.WrongSource, text, "can be set by any client", instead)
	}
	return Part{}, problem.New(problem.WrongSource, text, "does not tell callers apart", instead)
}

// ParseStated reads a source of an identifier that another system checks: one of
// verified credentials, or a header.
func ParseStated(text string) (p Part, wrong problem.Fault) {
	if p, wrong = ParseSource(text); !wrong.Found() && !p.OfCredentials() && p.Kind != FromHeader {
		wrong = problem.New(problem.WrongSource, text, "is no credential",
			"a claim such as jwt.usage_key, apikey, or a header such as header.x-api-key")
	}
	return p, wrong
}

// ParseCompared reads a source that match compares: one that is trusted, a fact
// of the viewer, or what a GraphQL request runs, which its name does not change.
func ParseCompared(text string) (p Part, wrong problem.Fault) {
	switch p, wrong = ParseSource(text); {
	case wrong.Found():
	case p.Kind == FromOperationName:
		return Part{}, problem.New(problem.WrongSource, text, "can be set by any client", "graphql.fields, or {graphql.name} in a key")
	case p.OfViewer() || p.OfOperation():
		return p, wrong
	}
	return ParseTrusted(text)
}

// OfViewer reports whether CloudFront states the source.
func (p Part) OfViewer() bool { return p.Kind == FromCountry || p.Kind == FromASN }

// OfOperation reports whether the source is part of a GraphQL operation.
func (p Part) OfOperation() bool { return FromOperationType <= p.Kind && p.Kind <= FromRootFields }

// OfCredentials reports whether the source is part of verified credentials.
func (p Part) OfCredentials() bool { return p.Kind == FromClaim || p.Kind == FromAPIKey }

// String returns the source in the form of documents, such as "jwt.plan"; the
// text of a literal.
func (p Part) String() string {
	switch {
	case p.Kind == Literal:
		return p.Text
	case p.Kind.IsNamed():
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
		return r.Method, r.Method != "" // a log may not have it
	case FromStage:
		return r.Stage, r.Stage != ""
	case FromCountry:
		return r.Country, r.Country != ""
	case FromASN:
		return r.ASN, r.ASN != ""
	case FromOperationType:
		return r.Operation.Type, r.Operation.Type != ""
	case FromOperationName:
		return r.Operation.Name, r.Operation.Name != ""
	case FromRootFields:
		return strings.Join(r.Operation.Fields, ","), len(r.Operation.Fields) > 0
	case Literal:
		return p.Text, true
	}
	if len(values) != 1 {
		return "", false
	}
	return values[0], true
}

// In reports whether a request has a value of the source for keys and costs.
func (p *Part) In(r *request.Request) bool {
	switch p.Kind {
	case FromIP:
		return r.IP.IsValid()
	case FromRoute:
		return r.Route != ""
	case FromHeader:
		return strings.Join(r.Header(p.Text), "") != ""
	case FromQuery:
		return strings.Join(r.Query[p.Text], "") != ""
	}
	text, _ := p.Value(r)
	return text != ""
}

// Each calls yield with every text that a condition on the source compares,
// case-sensitively: root fields, the entries of a claim that is a list, the words
// of scope, which spaces separate (RFC 8693, section 4.2), else the one value.
func (p *Part) Each(r *request.Request, yield func(text string)) {
	if p.Kind == FromRootFields {
		for _, field := range r.Operation.Fields {
			yield(field)
		}
		return
	}
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

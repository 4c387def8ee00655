// Package starter writes the first rules of somebody who has none: one limit,
// with comments that say what each line does and what to change next.
package starter

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/rulefile"
)

// What requests can be counted by.
const (
	Address = "address"
	APIKey  = "api-key"
	User    = "user"
)

// Callers are all of them.
var Callers = []string{Address, APIKey, User}

// DefaultLimit is for an API that people use: a page that loads twenty things
// at once stays below it, and a script that never waits does not.
const DefaultLimit = "100/minute"

// Answers are what a first file depends on.
type Answers struct {
	Per              string // Address, APIKey or User
	Limit            string // a rate, such as 100/minute
	Issuer, Audience string // of the tokens of users
	Shadow           bool   // count only, and deny nothing
}

// Compose returns the file. The error says what is wrong with an answer, in the
// words of `rules validate`; a file that would draw a warning is an error too.
func Compose(a Answers) ([]byte, error) {
	if !slices.Contains(Callers, a.Per) {
		return nil, fmt.Errorf("%q: want %s, %s or %s", a.Per, Address, APIKey, User)
	}
	if _, err := check(a, quote(a.Limit)); err != nil {
		return nil, err
	}
	// The parser took the limit as a text, so it needs no quotes.
	return check(a, a.Limit)
}

// check composes the file with a limit as YAML writes it.
func check(a Answers, limit string) ([]byte, error) {
	file := []byte(compose(a, limit))
	_, warnings, caveats, err := rulefile.Check("", file)
	if err == nil && len(warnings)+len(caveats) > 0 {
		err = append(warnings, caveats...)
	}
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, errors.New(withoutPlace(first))
	}
	return file, nil
}

// withoutPlace cuts the line and the path in the file off a message: the person
// who answers has not seen the file.
func withoutPlace(message string) string {
	for {
		place, reason, ok := strings.Cut(message, ": ")
		if !ok || strings.ContainsAny(place, " \"") {
			return message
		}
		message = reason
	}
}

func compose(a Answers, limit string) string {
	var b strings.Builder
	b.WriteString(head)
	switch a.Per {
	case APIKey:
		b.WriteString(apiKeys)
	case User:
		fmt.Fprintf(&b, tokens, quote(a.Issuer), quote(a.Audience))
	}
	b.WriteString(unmatched)
	mode := ""
	if a.Shadow {
		mode = shadow
	}
	switch a.Per {
	case APIKey:
		fmt.Fprintf(&b, known, "per-key", "apikey:{apikey}", "the key's id", limit, mode)
		fmt.Fprintf(&b, anonymous, limit, mode)
	case User:
		fmt.Fprintf(&b, known, "per-user", "user:{jwt.sub}", "the token's subject", limit, mode)
		fmt.Fprintf(&b, anonymous, limit, mode)
	default:
		fmt.Fprintf(&b, addresses, limit, mode)
	}
	return b.String()
}

// quote writes a text as YAML reads it whatever it holds. JSON is YAML.
func quote(text string) string {
	quoted, _ := json.Marshal(text) // a string has no error
	return string(quoted)
}

const head = `# Rules of Slidegate. A request is checked against every rule that covers it, from
# top to bottom, and goes through if all of them have room.

# What to do with a request while the counters cannot be reached: count in this
# process alone (local), or allow, or deny.
defaults: {on_error: local}
`

const apiKeys = `
# Callers are known by a key in the header x-api-key that ` + "`slidegate apikeys create`" + `
# has made. Keys are in a rules table: a file alone verifies none.
authentication:
  api_key: {}
`

const tokens = `
# Callers are known by a JSON Web Token in the header authorization. A token of
# another issuer or audience, or one that has expired, is answered by 401.
authentication:
  jwt: [{issuer: %s, audience: %s}]
`

const unmatched = `
# Requests that no rule covers go through.
unmatched: allow

# Requests that no rule limits. Health checks come often and cost nothing.
skip:
  - {methods: [GET], route: /health}

rules:
`

const addresses = `  # Every client address has a limit of its own. One rule may have several limits:
  # limits: [10/second, 1000/hour]
  - name: per-address
    key: ip:{ip}          # what requests are counted by; {ip} is the client's address
    limit: %s
%s
  # A rule for a part of the API:
  #
  # - name: login
  #   when: {methods: [POST], route: /login}
  #   key: ip:{ip}
  #   limit: 5/minute
`

const known = `  # Every known caller has a limit of its own. One rule may have several limits:
  # limits: [10/second, 1000/hour]
  - name: %s
    when: {caller: known}
    key: %s  # what requests are counted by: %s
    limit: %s
%s
`

const anonymous = `  # Callers without credentials are counted by their address.
  - name: anonymous
    when: {caller: anonymous}
    key: ip:{ip}
    limit: %s
%s`

const shadow = "    mode: shadow          # count and log, but deny nothing; remove this line to enforce\n"

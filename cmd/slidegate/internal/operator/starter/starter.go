// Package starter writes a first rules file: one limit, with comments that say
// what each line does and what to change next.
package starter

import (
	"bytes"
	_ "embed" // the rules
	"errors"
	"fmt"
	"slices"
	"strconv"
	"text/template"

	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/yamlfile"
)

// What requests can be counted by.
const (
	Address = "address"
	APIKey  = "api-key"
	User    = "user"
)

// Callers lists the values of Answers.Per.
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

// Key returns what the rules count known callers by, as a rule's key.
func (a Answers) Key() string {
	return map[string]string{Address: "ip:{ip}", APIKey: "apikey:{apikey}", User: "user:{jwt.sub}"}[a.Per]
}

//go:embed rules.yaml.tmpl
var text string

var rules = template.Must(template.New("rules").Parse(text))

// Compose returns the file. The error says what is wrong with an answer, in the
// words of `rules validate`; a file that would draw a warning is an error too.
func Compose(a Answers) ([]byte, error) {
	if !slices.Contains(Callers, a.Per) {
		return nil, fmt.Errorf("%q: want %s, %s or %s", a.Per, Address, APIKey, User)
	}
	quoted := a
	quoted.Limit = strconv.Quote(a.Limit) // any text is one value in YAML
	if _, err := compose(quoted); err != nil {
		return nil, err
	}
	return compose(a) // a limit needs no quotes
}

func compose(a Answers) ([]byte, error) {
	var file bytes.Buffer
	if err := rules.Execute(&file, a); err != nil {
		return nil, err
	}
	_, warnings, caveats, err := rulefile.Check("", file.Bytes())
	if err == nil && len(warnings)+len(caveats) > 0 {
		err = append(warnings, caveats...)
	}
	if wrong, ok := errors.AsType[*yamlfile.Error](err); ok {
		err = errors.New(wrong.Reason) // without its place: nobody has seen the file
	}
	return file.Bytes(), err
}

package problem

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/limit"
)

// Program says what is wrong with the limits and rules of a Go program.
type Program struct {
	// Limit returns the call that makes a limit, such as
	// "SlidingWindow(100, 1m)".
	Limit func(rule, i int) string
	// Limiter says that the only rule is that of a limiter, which states its
	// fields by options.
	Limiter bool
}

// Join joins the problems to one error, each once; nil for none.
func (w Program) Join(problems []Problem) error {
	var errs []error
	for _, p := range problems {
		text := w.Text(p)
		if !slices.ContainsFunc(errs, func(err error) bool { return err.Error() == text }) {
			errs = append(errs, errors.New(text))
		}
	}
	return errors.Join(errs...)
}

// Text says where a problem is, what is wrong and what to write instead.
func (w Program) Text(p Problem) string {
	words := cmp.Or(p.Code.inPrograms, p.Code.inFiles)
	args := make([]any, len(p.Args))
	for i, arg := range p.Args {
		args[i] = w.argument(arg)
	}
	rule, place, subject := w.place(p.Path)
	if rule != "" {
		place = rule + ": " + place
	}
	reason := sentence(words, args)
	switch {
	case place == "":
		return strings.TrimPrefix(reason, " ")
	case strings.HasPrefix(reason, " ") && subject != "":
		return place + ": " + subject + reason
	case strings.HasPrefix(reason, " "):
		return place + reason
	}
	return place + ": " + reason
}

// place returns where a problem is: a field or, within a rule, the call that made
// a limit. The subject is what a call names no further: a parameter of that
// function.
func (w Program) place(p Path) (rule, place, subject string) {
	i, rest, ok := p.entry("rules")
	if !ok {
		return "", names(p, "", ruleFields), ""
	}
	fields := limiterFields
	if !w.Limiter {
		rule, fields = fmt.Sprintf("Rules[%d]", i), ruleFields
	}
	j, field, ok := rest.entry("limits")
	if !ok {
		return "", names(rest, rule, fields), ""
	}
	return rule, w.Limit(i, j), parameters[field.Last()]
}

// names writes a path in the names of Go's fields, after the text before it.
func names(p Path, before string, fields map[string]string) string {
	text := before
	for i, step := range p {
		switch step := step.(type) {
		case int:
			text += fmt.Sprintf("[%d]", step)
		case string:
			name, known := fields[step]
			switch {
			case !known || i > 0 && p[i-1] == "match": // a source of Claims
				text += fmt.Sprintf("[%q]", step)
			case text == "" || name == "":
				text += name
			default:
				text += "." + name
			}
		}
	}
	return text
}

// argument returns what an argument is called in Go.
func (w Program) argument(arg any) any {
	switch arg := arg.(type) {
	case Path:
		_, place, _ := w.place(arg)
		return place
	case limit.Algorithm:
		return constructors[arg]
	case Field:
		if name, ok := parameters[string(arg)]; ok {
			return name
		}
		return ruleFields[string(arg)]
	case Need:
		return needs[arg.Field]
	}
	return arg
}

// ruleFields are the fields of a gate's Rules and their parts, by their names in
// documents.
var ruleFields = map[string]string{
	"rules": "Rules", "deny": "Deny", "skip": "Skip", "client_ip": "TrustedProxies", "trusted_hops": "",
	"name": "Name", "when": "When", "unless": "Unless", "key": "Key", "limits": "Limits", "cost": "Cost",
	"refund_on": "RefundOn", "atomic": "Atomic", "lease": "Lease", "methods": "Methods", "path": "Paths",
	"route": "Routes", "cidrs": "CIDRs", "caller": "Callers", "match": "Claims",
}

// limiterFields are the options of a limiter.
var limiterFields = map[string]string{"name": "WithName", "lease": "WithLease", "refund_on": "RefundOn", "limits": ""}

// parameters are those of the functions that make limits.
var parameters = map[string]string{
	"capacity": "n", "window": "the window", "burst": "burst", "queue": "queue", "granularity": "slots",
	"anchor": "the day", "timezone": "the zone",
}

var constructors = [...]string{
	limit.SlidingWindow: "SlidingWindow", limit.FixedWindow: "FixedWindow", limit.SlidingWindowCounter: "SlidingWindowCounter",
	limit.SlidingWindowLog: "SlidingLog", limit.TokenBucket: "TokenBucket", limit.LeakyBucket: "LeakyBucket",
	limit.InFlight: "InFlight",
}

// needs say what to write for fields of rules that are missing.
var needs = map[string]string{
	"name": `one that no other rule has, such as "per-ip"`, "key": `what to count by, such as "ip:{ip}"`,
}

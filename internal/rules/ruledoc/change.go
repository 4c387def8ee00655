package ruledoc

import (
	"cmp"
	"fmt"
	"strings"
)

// ChangeKind says what became of something in a rules document.
type ChangeKind string

// The kinds of changes that Diff reports.
const (
	Added    ChangeKind = "added"
	Removed  ChangeKind = "removed"
	Moved    ChangeKind = "moved"    // rules, in the order of charging
	Changed  ChangeKind = "changed"  // the value of a field
	Counters ChangeKind = "counters" // what happens to the counters of a changed rule
)

// Change is one difference between two rules documents.
type Change struct {
	Kind  ChangeKind `json:"kind"`
	Rule  string     `json:"rule,omitempty"`  // empty for the document; PlanOverrides for overrides of plans
	Limit string     `json:"limit,omitempty"` // its name; empty for the rule, and for its only limit
	Field string     `json:"field,omitempty"` // as the document has it, inner ones after a dot; empty for a whole rule
	Key   string     `json:"key,omitempty"`   // of an override
	// The values before and after, "" for what was not there. Those of Moved are
	// the names of the rules that both documents have. Those of Counters are what
	// names the counters: counter, key, limits and perhaps routes.
	From Value `json:"from,omitempty"`
	To   Value `json:"to,omitempty"`
	// CountersReset says that the counters of an added or changed rule, or of an
	// override's key, start at zero. The units in the old counters are lost.
	CountersReset bool `json:"counters_reset"`
}

const (
	startAtZero  = "its counters start at zero"
	takesOver    = "it continues counters that exist"
	keepsWindows = "its counters keep their windows"
)

// String says in one line what has changed.
func (c Change) String() string {
	line := c.subject() + ": "
	switch c.Kind {
	case Counters:
		return line + c.counters()
	case Added:
		line += "added: " + c.To.String()
	case Removed:
		line += "removed: " + c.From.String()
	case Moved:
		line = fmt.Sprintf("rules are charged in another order: from %s to %s", c.From, c.To)
	case Changed:
		line += fmt.Sprintf("from %s to %s", cmp.Or(c.From.String(), "none"), cmp.Or(c.To.String(), "none"))
	}
	switch {
	case c.Key != "" && c.CountersReset:
		return line + "; " + startAtZero
	case c.Kind == Added && c.Rule != "" && c.Field == "" && !c.CountersReset:
		return line + "; " + takesOver
	}
	return line
}

func (c Change) counters() string {
	switch {
	case c.CountersReset && c.ofPatterns():
		return startAtZero + " where the gateway names no route"
	case c.CountersReset:
		return startAtZero
	case c.From != c.To:
		return takesOver
	}
	return keepsWindows
}

// ofPatterns reports whether the names of counters differ only in the patterns of
// matched routes.
func (c Change) ofPatterns() bool {
	before, _, _ := strings.Cut(string(c.From), withRoutes)
	after, _, ok := strings.Cut(string(c.To), withRoutes)
	return ok && before == after
}

// subject names what has changed: "rule chat, limit tokens, capacity".
func (c Change) subject() string {
	var words []string
	switch c.Rule {
	case "":
	case PlanOverrides:
		words = append(words, "plans")
	default:
		words = append(words, "rule "+c.Rule)
	}
	if c.Limit != "" {
		words = append(words, "limit "+c.Limit)
	}
	switch {
	case c.Key != "":
		words = append(words, c.Field+" of "+c.Key)
	case c.Field != "" && (c.Field != fieldLimits || c.Limit == ""):
		words = append(words, c.Field)
	}
	return strings.Join(words, ", ")
}

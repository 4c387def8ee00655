package ruletable

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// Override is an override that operators set for one key of a rule.
type Override struct {
	Rule     string  `dynamodbav:"-"` // or rules.PlanOverrides
	Key      string  `dynamodbav:"s"`
	Document string  `dynamodbav:"document"` // JSON of a ruledoc.Override; "" if there are only grants
	Grants   []Grant `dynamodbav:"grants,omitempty"`
	Note             // of who set the document, or gave the first grant
	Revision int64   `dynamodbav:"revision"` // a random number for each state of the override; 0 for a new one
}

// Compile returns the override for rules, with all its grants, even ended ones.
// Its error names the override and lists all problems of its document.
func (o *Override) Compile(name string) (*rules.Override, error) {
	compiled := &rules.Override{}
	if o.Document != "" {
		d, err := ruledoc.UnmarshalOverride([]byte(o.Document))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var problems []problem.Problem
		if compiled, problems = rules.CompileOverride(d); len(problems) > 0 {
			return nil, &Problems{name, problems}
		}
	}
	for _, g := range o.Grants {
		compiled.Grants = append(compiled.Grants, rules.Grant{Limit: g.Limit, Add: g.Add, Until: g.Until, From: g.When})
	}
	return compiled, nil
}

// Grant raises a capacity for a time.
type Grant struct {
	Limit string     `json:"limit" dynamodbav:"limit"` // the limit's name, "" for a rule's only limit
	Add   int64      `json:"add" dynamodbav:"add"`     // units, above 0
	Until time.Time  `json:"until" dynamodbav:"until"` // when it ends
	Note  `json:"-"` // of who gave it
}

const (
	overridePartition = "override#"

	// maxOverride bounds a document with its grants and notes, in bytes,
	// because requests wait for it.
	maxOverride = 32 << 10
	// maxRevision bounds revisions to numbers that JSON holds exactly.
	maxRevision = 1 << 53
)

// overrideAt returns the key of an override's item. It refuses keys that are
// not UTF-8: they would change on their way, and could become the key of
// another.
func overrideAt(rule, sort string) (item, error) {
	switch {
	case rule == "" || sort == "":
		return nil, fmt.Errorf("an override needs a rule and a key: got rule %q, key %q", rule, sort)
	case len(rule) > maxSort || len(sort) > maxSort:
		return nil, fmt.Errorf("override of rule %.100q for key %.100q: names and keys are at most %d bytes long", rule, sort, maxSort)
	case !utf8.ValidString(rule) || !utf8.ValidString(sort):
		return nil, fmt.Errorf("override of rule %q for key %q: names and keys are UTF-8; escape other bytes as %%XX", rule, sort)
	}
	return key(overridePartition+rule, sort), nil
}

// item returns the item of the override, with a new revision and without grants
// that have ended by then.
func (o Override) item(then time.Time) (item, error) {
	at, err := overrideAt(o.Rule, o.Key)
	if err != nil {
		return nil, err
	}
	o.Grants, o.Revision = o.live(then), 1+rand.Int64N(maxRevision)
	size := len(o.Document) + o.size()
	for _, g := range o.Grants {
		size += 100 + len(g.Limit) + g.size()
	}
	if size > maxOverride {
		return nil, fmt.Errorf("override of rule %s for key %q: %d bytes with grants and notes are %w: the limit is %d bytes",
			o.Rule, o.Key, size, ErrTooLarge, maxOverride)
	}
	return marshal(o, at)
}

// live returns the grants that have not ended by then, nil if there are none: an
// item without grants has no list of them.
func (o *Override) live(then time.Time) (grants []Grant) {
	for _, g := range o.Grants {
		if then.Before(g.Until) {
			grants = append(grants, g)
		}
	}
	return grants
}

// overrideOf reads an override of a rule from its item. It fails with
// ErrUnreadable.
func (t *Table) overrideOf(rule string, i item) (*Override, error) {
	o := &Override{}
	err := unmarshal(i, o)
	_, ok := i[attrDocument].(*types.AttributeValueMemberS)
	switch {
	case err != nil:
	case !ok:
		err = errors.New("no text document")
	case o.Revision < 1:
		err = errors.New("no revision above 0")
	default:
		err = checkGrants(o.Grants)
	}
	if err != nil {
		return nil, t.unreadable(rule, i, err)
	}
	o.Rule = rule
	return o, nil
}

func checkGrants(grants []Grant) error {
	for n, g := range grants {
		if g.Add < 1 || g.Until.IsZero() {
			return fmt.Errorf("grants[%d] needs add, above 0, and until, a time of RFC 3339", n)
		}
	}
	return nil
}

func (t *Table) unreadable(rule string, i item, cause error) error {
	return t.errorf("override of rule %s for key %q: %w: %w", rule, sortKey(i), ErrUnreadable, cause)
}

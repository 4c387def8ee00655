package ruletable

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/rules"
)

// Override is an override that operators set for one key of a rule.
type Override struct {
	Rule     string // or rules.PlanOverrides
	Key      string
	Document string // JSON of a ruledoc.Override; "" if there are only grants
	Grants   []Grant
	Note           // of who set the document, or gave the first grant
	Revision int64 // a random number for each state of the override; 0 for a new one
}

// Compile returns the override for rules, with all its grants, even ended ones.
// Its error names the override and lists all problems of its document.
func (o *Override) Compile(name string) (*rules.Override, error) {
	compiled := &rules.Override{}
	if o.Document != "" {
		var err error
		if compiled, err = compileOverride(name, o.Document); err != nil {
			return nil, err
		}
	}
	for _, g := range o.Grants {
		compiled.Grants = append(compiled.Grants, rules.Grant{Limit: g.Limit, Add: g.Add, Until: g.Until, From: g.When})
	}
	return compiled, nil
}

// Grant raises a capacity for a time.
type Grant struct {
	Limit string     `json:"limit"` // the limit's name, "" for a rule's only limit
	Add   int64      `json:"add"`   // units, above 0
	Until time.Time  `json:"until"` // when it ends
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
func (o *Override) item(then time.Time) (item, error) {
	i, err := overrideAt(o.Rule, o.Key)
	if err != nil {
		return nil, err
	}
	size := len(o.Document) + o.size()
	grants := o.live(then)
	for _, g := range grants {
		size += g.size()
	}
	if size > maxOverride {
		return nil, fmt.Errorf("override of rule %s for key %q: %d bytes with grants and notes are %w: the limit is %d bytes",
			o.Rule, o.Key, size, ErrTooLarge, maxOverride)
	}
	i[attrDocument], i[attrRevision] = textValue(o.Document), numberValue(1+rand.Int64N(maxRevision))
	writeGrants(i, grants)
	o.write(i)
	return i, nil
}

// live returns the grants that have not ended by then.
func (o *Override) live(then time.Time) (grants []Grant) {
	for _, g := range o.Grants {
		if then.Before(g.Until) {
			grants = append(grants, g)
		}
	}
	return grants
}

// overrideOf reads an override from its item. It fails with ErrUnreadable.
func overrideOf(rule string, i item) (*Override, error) {
	o := &Override{Rule: rule, Key: text(i, attrSort), Note: noteOf(i)}
	document, ok := i[attrDocument].(*types.AttributeValueMemberS)
	if !ok {
		return nil, o.unreadable(errors.New("no text document"))
	}
	o.Document = document.Value
	var err error
	if o.Revision, err = number(i, attrRevision); err != nil {
		return nil, o.unreadable(err)
	}
	if o.Grants, err = grantsOf(i); err != nil {
		return nil, o.unreadable(err)
	}
	return o, nil
}

func (o *Override) unreadable(err error) error {
	return fmt.Errorf("override of rule %s for key %q: %w: %w", o.Rule, o.Key, ErrUnreadable, err)
}

func (g *Grant) size() int { return 100 + len(g.Limit) + g.Note.size() }

func (g *Grant) item() item {
	i := item{attrLimit: textValue(g.Limit), attrAdd: numberValue(g.Add), attrUntil: timeValue(g.Until)}
	g.write(i)
	return i
}

// writeGrants puts grants into an item, which has no list if there are none.
func writeGrants(i item, grants []Grant) {
	if len(grants) == 0 {
		return
	}
	list := make([]types.AttributeValue, len(grants))
	for n := range grants {
		list[n] = &types.AttributeValueMemberM{Value: grants[n].item()}
	}
	i[attrGrants] = &types.AttributeValueMemberL{Value: list}
}

// grantsOf reads the grants of an item.
func grantsOf(i item) ([]Grant, error) {
	value, ok := i[attrGrants]
	if !ok {
		return nil, nil
	}
	list, ok := value.(*types.AttributeValueMemberL)
	if !ok {
		return nil, errors.New("its grants are not a list")
	}
	grants := make([]Grant, len(list.Value))
	for n, each := range list.Value {
		m, ok := each.(*types.AttributeValueMemberM)
		if !ok {
			return nil, fmt.Errorf("grants[%d] is not a map", n)
		}
		var err error
		if grants[n], err = grantOf(m.Value); err != nil {
			return nil, fmt.Errorf("grants[%d]: %w", n, err)
		}
	}
	return grants, nil
}

func grantOf(i item) (Grant, error) {
	add, err := number(i, attrAdd)
	if err != nil {
		return Grant{}, err
	}
	until, err := time.Parse(time.RFC3339, text(i, attrUntil))
	if err != nil {
		return Grant{}, fmt.Errorf("until is %q, not a time as in RFC 3339", text(i, attrUntil))
	}
	return Grant{Limit: text(i, attrLimit), Add: add, Until: until, Note: noteOf(i)}, nil
}

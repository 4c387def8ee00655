package imports

import (
	"fmt"
	"slices"

	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/rules"
)

// maxDocument bounds an imported document, in bytes. It is well within what a
// rules document may hold, and far beyond what a person can read.
const maxDocument = 2 << 20

// Draft is a rules document in the making, with comments that name the source
// of each part. Rules are added by AddRule, in any order.
type Draft struct {
	ruledoc.Document
	comments map[string]string // by path
	rules    []*Rule
}

// Rule is a rule of a Draft. It may change until the draft is written, except
// for its name if it has overrides.
type Rule struct {
	ruledoc.Rule
	at      Place
	comment string
}

// Comment sets the comment at a path, such as "plans.gold"; "" is the head of
// the document.
func (d *Draft) Comment(path, comment string) {
	if d.comments == nil {
		d.comments = map[string]string{}
	}
	d.comments[path] = comment
}

// AddDeny adds an entry to deny.
func (d *Draft) AddDeny(s ruledoc.Selector, comment string) {
	d.Comment(fmt.Sprintf("deny[%d]", len(d.Deny)), comment)
	d.Deny = append(d.Deny, s)
}

// AddRule adds a rule. The document has its rules in the order of their places.
func (d *Draft) AddRule(at Place, r ruledoc.Rule, comment string) *Rule {
	added := &Rule{r, at, comment}
	d.rules = append(d.rules, added)
	return added
}

// AddOverride adds an override of one key of a rule. It reports false if the
// key has one already.
func (d *Draft) AddOverride(r *Rule, key string, o ruledoc.Override, comment string) bool {
	if d.Overrides == nil {
		d.Overrides = map[string]map[string]ruledoc.Override{}
	}
	if d.Overrides[r.Name] == nil {
		d.Overrides[r.Name] = map[string]ruledoc.Override{}
	}
	if _, twice := d.Overrides[r.Name][key]; twice {
		return false
	}
	d.Overrides[r.Name][key] = o
	d.Comment("overrides."+r.Name+"."+key, comment)
	r.Overrides = &ruledoc.OverrideKeys{OwnKey: true}
	return true
}

// Write returns the document as YAML. It fails if there is too much of it.
func (d *Draft) Write() ([]byte, error) {
	slices.SortStableFunc(d.rules, func(a, b *Rule) int { return a.at.Compare(b.at) })
	d.Rules = make([]ruledoc.Rule, len(d.rules))
	size := 0
	for i, r := range d.rules {
		d.Rules[i] = r.Rule
		d.Comment(fmt.Sprintf("rules[%d]", i), r.comment)
		size += selectorSize(r.When) + selectorSize(r.Unless)
	}
	for i := range d.Deny {
		size += selectorSize(&d.Deny[i])
	}
	if size > maxDocument {
		return nil, d.tooLarge()
	}
	text, err := rulefile.Write(&d.Document, d.comments)
	if err == nil && len(text) > maxDocument {
		err = d.tooLarge()
	}
	return text, err
}

func (d *Draft) tooLarge() error {
	return fmt.Errorf("the import makes %d rules in more than %d bytes, too many for one document: split the source and import its parts",
		len(d.rules), maxDocument)
}

// selectorSize returns the bytes of a selector's values. Rules share these
// strings in memory but not in the text, where a small source could multiply
// them.
func selectorSize(s *ruledoc.Selector) (size int) {
	if s == nil {
		return 0
	}
	values := slices.Concat(s.Methods, s.Route, s.Path)
	for _, words := range s.Match {
		values = append(values, words...)
	}
	for _, v := range values {
		size += len(v)
	}
	return size
}

// Refused returns why a rule with this key and this selector is invalid, or "".
func Refused(key string, when *ruledoc.Selector) (reason string) {
	limits := []ruledoc.Limit{{Capacity: 1, Window: "1m"}}
	_, problems := rules.Compile(&ruledoc.Document{Rules: []ruledoc.Rule{{Name: "x", When: when, Key: key, Limits: limits}}})
	if len(problems) == 0 {
		return ""
	}
	return problems[0].Reason
}

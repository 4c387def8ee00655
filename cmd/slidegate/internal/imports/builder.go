package imports

import (
	"fmt"
	"maps"
	"slices"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
)

// maxDocument bounds an imported document, in bytes. It is well within the
// bound of a rules document, and far more than a person can read.
const maxDocument = 2 << 20

// Builder collects the result of an import: a rules document, comments that name
// the source of each part, and the losses.
type Builder struct {
	ruledoc.Document
	comments map[string]string // by path
	rules    []*Rule
	lost     []Lost
	recorded map[string]bool // by RecordOnce
	sources  []*Source
}

// NewBuilder returns an empty Builder.
func NewBuilder() Builder {
	return Builder{comments: map[string]string{}, recorded: map[string]bool{}}
}

// Rule is a rule of a Builder. It may change until Result, except for its name
// if it has overrides.
type Rule struct {
	ruledoc.Rule
	at      Place
	comment string
}

// Comment sets the comment at a path, such as "plans.gold"; "" is the head of
// the document.
func (b *Builder) Comment(path, comment string) {
	b.comments[path] = comment
}

// AddRule adds a rule. The document has its rules in the order of their places.
func (b *Builder) AddRule(at Place, r ruledoc.Rule, comment string) *Rule {
	added := &Rule{r, at, comment}
	b.rules = append(b.rules, added)
	return added
}

// AddOverride adds an override of one key of a rule. It reports false if the
// key has one already.
func (b *Builder) AddOverride(r *Rule, key string, o ruledoc.Override, comment string) bool {
	if b.Overrides == nil {
		b.Overrides = map[string]map[string]ruledoc.Override{}
	}
	if b.Overrides[r.Name] == nil {
		b.Overrides[r.Name] = map[string]ruledoc.Override{}
		r.Overrides = &ruledoc.OverrideKeys{OwnKey: true}
	}
	if _, twice := b.Overrides[r.Name][key]; twice {
		return false
	}
	b.Overrides[r.Name][key] = o
	b.Comment("overrides."+r.Name+"."+key, comment)
	return true
}

// Record adds something that is lost.
func (b *Builder) Record(at Place, what, why string) {
	b.lost = append(b.lost, Lost{at, what, why})
}

// RecordOnce is Record, unless it has added the same what before.
func (b *Builder) RecordOnce(at Place, what, why string) {
	if !b.recorded[what] {
		b.recorded[what] = true
		b.Record(at, what, why)
	}
}

// Result returns the result. It fails if the document is too large.
func (b *Builder) Result() (*Result, error) {
	slices.SortStableFunc(b.rules, func(x, y *Rule) int { return x.at.compare(y.at) })
	slices.SortStableFunc(b.lost, func(x, y Lost) int { return x.Place.compare(y.Place) })
	tooLarge := fmt.Errorf("the import makes %d rules in more than %d bytes, too many for one document: split the source and import its parts",
		len(b.rules), maxDocument)
	size := len(fmt.Sprint(b.Deny))
	b.Rules = make([]ruledoc.Rule, len(b.rules))
	for i, r := range b.rules {
		// Selectors share strings in memory but not in the document, where a
		// small source could multiply them.
		if size += len(fmt.Sprint(r.When, r.Unless)); size > maxDocument {
			return nil, tooLarge
		}
		b.Rules[i] = r.Rule
		b.Comment(fmt.Sprintf("rules[%d]", i), r.comment)
	}
	overrides, of := b.apart()
	text, err := rulefile.Write(&b.Document, b.comments)
	if err == nil && len(text) > maxDocument {
		err = tooLarge
	}
	if err != nil {
		return nil, err
	}
	return &Result{string(text), &b.Document, append([]Lost{}, b.lost...), overrides, of}, nil
}

// maxOverrides bounds the overrides of a document: a rules table refuses one of more
// than 10,000 rules, limits and overrides.
const maxOverrides = 9_000

// apart takes the overrides of the rule that has the most out of a document of too
// many.
func (b *Builder) apart() (apart []Override, of string) {
	all := 0
	for rule, overrides := range b.Overrides {
		if all += len(overrides); of == "" || len(overrides) > len(b.Overrides[of]) {
			of = rule
		}
	}
	if all <= maxOverrides {
		return []Override{}, ""
	}
	for _, key := range slices.Sorted(maps.Keys(b.Overrides[of])) {
		apart = append(apart, NewOverride(key, b.Overrides[of][key]))
	}
	delete(b.Overrides, of)
	return apart, of
}

// Refused returns why a rule with this key and this selector is invalid, or "".
func Refused(key string, when *ruledoc.Selector) (reason string) {
	limits := []ruledoc.Limit{{Capacity: 1, Window: "1m"}}
	_, problems := rules.Compile(&ruledoc.Document{Rules: []ruledoc.Rule{{Name: "x", When: when, Key: key, Limits: limits}}})
	if len(problems) == 0 {
		return ""
	}
	return problems[0].Reason()
}

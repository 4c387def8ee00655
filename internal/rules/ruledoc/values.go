package ruledoc

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// The types below are written in more than one form. Each has one Go form, and
// reads and writes the forms of documents as JSON. Reading JSON checks forms
// only; package rules checks what the values mean.
//
// The method Forms returns a struct whose fields are the forms, with the value
// in its own form. Decoders of files choose the form that fits the file, and the
// first if none does; schemas list them all. Tags of the field that holds the
// value apply to forms that do not state their own.

// OverrideKeys says by which keys the overrides of a rule are looked up: by the
// rule's own, or by another template. The zero value is "overrides: false".
type OverrideKeys struct {
	OwnKey   bool
	Template string
}

// MarshalJSON writes true, false or the template.
func (o OverrideKeys) MarshalJSON() ([]byte, error) { return marshalForm(o) }

// UnmarshalJSON reads true, false or a template.
func (o *OverrideKeys) UnmarshalJSON(data []byte) error {
	*o = OverrideKeys{}
	return unmarshalForm(data, '"', &o.Template, &o.OwnKey)
}

// Forms returns the forms of OverrideKeys.
func (o OverrideKeys) Forms() any {
	return struct {
		Template string `example:"tenant:{jwt.tenant}"`
		OwnKey   bool
	}{o.Template, o.OwnKey}
}

// Required says which requests need a known caller: all of them, or those that
// one of the selectors covers.
type Required struct {
	All  bool
	Some []Selector
}

// MarshalJSON writes true or the selectors.
func (r Required) MarshalJSON() ([]byte, error) { return marshalForm(r) }

// UnmarshalJSON reads true or selectors.
func (r *Required) UnmarshalJSON(data []byte) error {
	*r = Required{}
	return unmarshalForm(data, '[', &r.Some, &r.All)
}

// Forms returns the forms of Required.
func (r Required) Forms() any {
	return struct {
		Some []Selector `items:"1 0" example:"[{path: /v1/**}]"` // first, for messages
		All  bool       `only:"true"`
	}{r.Some, r.All}
}

// Cost is what a request takes from a limit: Units, or what the request states
// in From, between Min and Max. Weights are what usage costs that the backend
// reports, as the document writes these numbers.
type Cost struct {
	Units   int64                  `json:"-"`
	From    string                 `json:"from,omitempty"`
	Min     int64                  `json:"min,omitempty" range:"0 999999999999999"`
	Max     int64                  `json:"max,omitempty" range:"1 999999999999999"`
	Settle  bool                   `json:"settle,omitempty"`
	Weights map[string]json.Number `json:"weights,omitempty" items:"1 32"`
}

// MarshalJSON writes a number, or an object if requests state the cost.
func (c Cost) MarshalJSON() ([]byte, error) { return marshalForm(c) }

// UnmarshalJSON reads a number or an object.
func (c *Cost) UnmarshalJSON(data []byte) error {
	*c = Cost{}
	return unmarshalForm(data, '{', (*statedCost)(c), &c.Units)
}

// Forms returns the forms of Cost.
func (c Cost) Forms() any {
	units := c.Units
	c.Units = 0
	return struct {
		Units int64 `range:"0 999999999999999"`
		From  statedCost
	}{units, statedCost(c)}
}

// statedCost is the form of a Cost that requests state.
type statedCost Cost

// Anchor is the day of the month on which a month's window starts. If From is
// set, the day is the value of that claim, and Day applies to requests whose
// claim holds no day from 1 to 31; 0 stands for 1.
type Anchor struct {
	From string `json:"from,omitempty"`
	Day  int64  `json:"default,omitempty" range:"1 31"`
}

// MarshalJSON writes a number, or an object if a claim holds the day.
func (a Anchor) MarshalJSON() ([]byte, error) { return marshalForm(a) }

// UnmarshalJSON reads a number or an object.
func (a *Anchor) UnmarshalJSON(data []byte) error {
	*a = Anchor{}
	return unmarshalForm(data, '{', (*statedAnchor)(a), &a.Day)
}

// Forms returns the forms of Anchor.
func (a Anchor) Forms() any {
	var forms struct {
		Day  int64 `range:"1 31"`
		From statedAnchor
	}
	if forms.Day = a.Day; a.From != "" {
		forms.Day, forms.From = 0, statedAnchor(a)
	}
	return forms
}

// statedAnchor is the form of an Anchor whose day a claim holds.
type statedAnchor Anchor

// Candidate is a capacity to try: Units, or Percent of the capacity in force.
type Candidate struct {
	Units   int64
	Percent int64
}

// String returns the candidate as documents write it, such as "80%"; "" for
// none.
func (c Candidate) String() string {
	switch {
	case c.Percent != 0:
		return strconv.FormatInt(c.Percent, 10) + "%"
	case c.Units != 0:
		return strconv.FormatInt(c.Units, 10)
	}
	return ""
}

// MarshalJSON writes a number, or a text such as "80%".
func (c Candidate) MarshalJSON() ([]byte, error) { return marshalForm(c) }

// UnmarshalJSON reads a number, or a text such as "80%".
func (c *Candidate) UnmarshalJSON(data []byte) error {
	*c = Candidate{}
	var text string
	if err := unmarshalForm(data, '"', &text, &c.Units); err != nil || !isText(data) {
		return err
	}
	percent, found := strings.CutSuffix(text, "%")
	n, err := strconv.ParseUint(percent, 10, 31)
	if !found || err != nil || n == 0 || percent[0] == '0' || percent[0] == '+' {
		return fmt.Errorf("%q is no capacity to try: write a number, or a percentage such as 80%%", text)
	}
	c.Percent = int64(n)
	return nil
}

// Forms returns the forms of Candidate.
func (c Candidate) Forms() any {
	var forms struct {
		Units   int64  `range:"1 999999999999999"`
		Percent string `example:"80%" pattern:"^[1-9][0-9]{0,3}%$"`
	}
	if forms.Units = c.Units; c.Percent != 0 {
		forms.Percent = c.String()
	}
	return forms
}

// Capacities are capacities by limit name. The name "" stands for the only
// limit of a rule, and a document writes its capacity as a number alone.
type Capacities map[string]int64

// MarshalJSON writes a number, or an object by limit name.
func (c Capacities) MarshalJSON() ([]byte, error) { return marshalForm(c) }

// UnmarshalJSON reads a number or an object by limit name.
func (c *Capacities) UnmarshalJSON(data []byte) error {
	*c = nil
	var only int64
	err := unmarshalForm(data, '{', (*map[string]int64)(c), &only)
	if err == nil && *c == nil {
		*c = Capacities{"": only}
	}
	return err
}

// capacityForms are the forms of Capacities.
type capacityForms struct {
	Capacity   int64            `range:"1 999999999999999"`
	Capacities map[string]int64 `range:"1 999999999999999" items:"1 0"`
}

// Forms returns the forms of Capacities.
func (c Capacities) Forms() any { return c.forms() }

func (c Capacities) forms() capacityForms {
	if only, ok := c[""]; ok && len(c) == 1 {
		return capacityForms{Capacity: only}
	}
	return capacityForms{Capacities: c}
}

// PlanCapacity is what a plan makes of one rule: other capacities, or no limit.
type PlanCapacity struct {
	Unlimited bool
	Capacity  Capacities
}

const unlimited = "unlimited"

// MarshalJSON writes "unlimited", a number, or an object by limit name.
func (p PlanCapacity) MarshalJSON() ([]byte, error) { return marshalForm(p) }

// UnmarshalJSON reads "unlimited", a number, or an object by limit name.
func (p *PlanCapacity) UnmarshalJSON(data []byte) error {
	*p = PlanCapacity{}
	var text string
	err := unmarshalForm(data, '"', &text, &p.Capacity)
	if p.Unlimited = text == unlimited; err == nil && isText(data) && !p.Unlimited {
		return fmt.Errorf("%q is no capacity: write a number, numbers by limit name, or unlimited", text)
	}
	return err
}

// Forms returns the forms of PlanCapacity.
func (p PlanCapacity) Forms() any {
	var forms struct {
		capacityForms
		Unlimited string `enum:"unlimited"`
	}
	if forms.capacityForms = p.Capacity.forms(); p.Unlimited {
		forms.Unlimited = unlimited
	}
	return forms
}

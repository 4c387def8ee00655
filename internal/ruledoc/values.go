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

// Texts is a list of texts. A document may write a single one without a list.
type Texts []string

// MarshalJSON writes a single text alone.
func (t Texts) MarshalJSON() ([]byte, error) { return marshalSome(t) }

// UnmarshalJSON reads a text or a list of texts.
func (t *Texts) UnmarshalJSON(data []byte) error {
	return unmarshalSome(data, (*[]string)(t), func(raw json.RawMessage) (text string, err error) {
		return text, json.Unmarshal(raw, &text)
	})
}

// Words is a list of values to compare claims with. A document may write a
// single one without a list, and numbers and booleans without quotes, which
// compare by their text.
type Words []string

// MarshalJSON writes a single word alone.
func (w Words) MarshalJSON() ([]byte, error) { return marshalSome(w) }

// UnmarshalJSON reads a text, a number, a boolean, or a list of them.
func (w *Words) UnmarshalJSON(data []byte) error {
	return unmarshalSome(data, (*[]string)(w), scalarText)
}

// Statuses is a list of HTTP statuses such as "404" and classes such as "5xx".
// A document may write a single one without a list, and statuses as numbers.
type Statuses []string

// MarshalJSON writes a single status alone, and statuses such as 404 as
// numbers, which is how documents have them.
func (s Statuses) MarshalJSON() ([]byte, error) {
	statuses := make([]status, len(s))
	for i, text := range s {
		statuses[i] = status(text)
	}
	return marshalSome(statuses)
}

// UnmarshalJSON reads a status, a class, or a list of them.
func (s *Statuses) UnmarshalJSON(data []byte) error {
	return unmarshalSome(data, (*[]string)(s), scalarText)
}

// OverrideKeys says by which keys the overrides of a rule are looked up: the
// rule's own, or those of another template. The zero value is
// "overrides: false".
type OverrideKeys struct {
	OwnKey   bool
	Template string
}

// MarshalJSON writes true, false or the template.
func (o OverrideKeys) MarshalJSON() ([]byte, error) {
	if o.Template != "" {
		return marshal(o.Template)
	}
	return marshal(o.OwnKey)
}

// UnmarshalJSON reads true, false or a template.
func (o *OverrideKeys) UnmarshalJSON(data []byte) error {
	*o = OverrideKeys{}
	if isText(data) {
		return json.Unmarshal(data, &o.Template)
	}
	return json.Unmarshal(data, &o.OwnKey)
}

// Cost is what a request takes from a limit: Units, or what the request states
// in From, between Min and Max.
type Cost struct {
	Units  int64  `json:"-"`
	From   string `json:"from,omitempty" example:"header.x-tokens" need:"write where requests state their cost, such as from: header.x-tokens" doc:"Where a request states its cost: header.NAME, query.NAME, path.NAME or jwt.NAME."`
	Min    int64  `json:"min,omitempty" range:"0 4294967295" doc:"The least a request can pay; at least 1 if the client states the cost."`
	Max    int64  `json:"max,omitempty" range:"1 4294967295" need:"write the most that a request may cost, which is charged if the stated cost is missing or unreadable" doc:"The most that a request pays, also if the stated cost is missing or unreadable."`
	Settle bool   `json:"settle,omitempty" doc:"true: the backend reports the true cost afterwards, and the charge is corrected."`
}

// MarshalJSON writes a number, or an object if requests state the cost.
func (c Cost) MarshalJSON() ([]byte, error) {
	type stated Cost
	if c == (Cost{Units: c.Units}) {
		return marshal(c.Units)
	}
	return marshal(stated(c))
}

// UnmarshalJSON reads a number or an object.
func (c *Cost) UnmarshalJSON(data []byte) error {
	type stated Cost
	*c = Cost{}
	if isObject(data) {
		return decodeStrict(data, (*stated)(c))
	}
	return json.Unmarshal(data, &c.Units)
}

// Anchor is the day of the month on which a month's window starts. If From is
// set, the day is the value of that claim, and Day applies to requests whose
// claim holds no day from 1 to 28; 0 stands for 1.
type Anchor struct {
	From string `json:"from,omitempty" example:"jwt.billing_day" need:"write the claim that holds the day, such as from: jwt.billing_day" doc:"The claim that holds the day of the month, such as jwt.billing_day."`
	Day  int64  `json:"default,omitempty" range:"1 28" doc:"The day for requests without a usable claim; 1 by default."`
}

// MarshalJSON writes a number, or an object if a claim holds the day.
func (a Anchor) MarshalJSON() ([]byte, error) {
	type stated Anchor
	if a.From == "" {
		return marshal(a.Day)
	}
	return marshal(stated(a))
}

// UnmarshalJSON reads a number or an object.
func (a *Anchor) UnmarshalJSON(data []byte) error {
	type stated Anchor
	*a = Anchor{}
	if isObject(data) {
		return decodeStrict(data, (*stated)(a))
	}
	return json.Unmarshal(data, &a.Day)
}

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
func (c Candidate) MarshalJSON() ([]byte, error) {
	if c.Percent != 0 {
		return marshal(c.String())
	}
	return marshal(c.Units)
}

// UnmarshalJSON reads a number, or a text such as "80%".
func (c *Candidate) UnmarshalJSON(data []byte) error {
	*c = Candidate{}
	if !isText(data) {
		return json.Unmarshal(data, &c.Units)
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
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

// Capacities are capacities by limit name. The name "" stands for the only
// limit of a rule, and a document writes its capacity as a number alone.
type Capacities map[string]int64

// MarshalJSON writes a number, or an object by limit name.
func (c Capacities) MarshalJSON() ([]byte, error) {
	if only, ok := c[""]; ok && len(c) == 1 {
		return marshal(only)
	}
	return marshal(map[string]int64(c))
}

// UnmarshalJSON reads a number or an object by limit name.
func (c *Capacities) UnmarshalJSON(data []byte) error {
	*c = nil
	if isObject(data) {
		return json.Unmarshal(data, (*map[string]int64)(c))
	}
	var only int64
	if err := json.Unmarshal(data, &only); err != nil {
		return err
	}
	*c = Capacities{"": only}
	return nil
}

// PlanCapacity is what a plan makes of one rule: other capacities, or no limit.
type PlanCapacity struct {
	Unlimited bool
	Capacity  Capacities
}

const unlimited = "unlimited"

// MarshalJSON writes "unlimited", a number, or an object by limit name.
func (p PlanCapacity) MarshalJSON() ([]byte, error) {
	if p.Unlimited {
		return marshal(unlimited)
	}
	return marshal(p.Capacity)
}

// UnmarshalJSON reads "unlimited", a number, or an object by limit name.
func (p *PlanCapacity) UnmarshalJSON(data []byte) error {
	*p = PlanCapacity{}
	if !isText(data) {
		return json.Unmarshal(data, &p.Capacity)
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	if text != unlimited {
		return fmt.Errorf("%q is no capacity: write a number, numbers by limit name, or unlimited", text)
	}
	p.Unlimited = true
	return nil
}

package ruledoc

import "strconv"

// Each type of values.go has a method Forms. It returns a struct whose fields
// are the forms in which documents may write a value. Decoders of files choose
// the form that fits the file, and the first if none does; schemas list them
// all. Tags of the field that holds the value apply to forms that do not state
// their own. UnmarshalJSON of the type reads the JSON of every form.

// Forms returns the forms of Texts.
func (Texts) Forms() any {
	return struct {
		One  string
		Some []string `items:"1 0"`
	}{}
}

// Forms returns the forms of Words. Values of the kind scalar may be numbers
// and booleans too, which count as the text that the file has.
func (Words) Forms() any {
	return struct {
		One  string   `kind:"scalar"`
		Some []string `kind:"scalar" items:"1 0"`
	}{}
}

// Forms returns the forms of Statuses.
func (Statuses) Forms() any {
	return struct {
		Class string   `pattern:"^[1-5]xx$"`
		Code  int64    `range:"100 599"`
		Some  []status `items:"1 0"`
	}{}
}

// status is one entry of Statuses.
type status string

// Forms returns the forms of a status.
func (status) Forms() any {
	return struct {
		Class string `pattern:"^[1-5]xx$"`
		Code  int64  `range:"100 599"`
	}{}
}

// MarshalJSON writes a number for a status of digits, and a text for a class.
func (s status) MarshalJSON() ([]byte, error) {
	if n, err := strconv.ParseUint(string(s), 10, 16); err == nil {
		return marshal(n)
	}
	return marshal(string(s))
}

// UnmarshalJSON reads a status or a class.
func (s *status) UnmarshalJSON(data []byte) error {
	text, err := scalarText(data)
	*s = status(text)
	return err
}

// Forms returns the forms of OverrideKeys.
func (OverrideKeys) Forms() any {
	return struct {
		Template string `example:"tenant:{jwt.tenant}"`
		OwnKey   bool
	}{}
}

// Forms returns the forms of Cost.
func (Cost) Forms() any {
	type stated Cost
	return struct {
		Units  int64 `range:"0 4294967295"`
		Stated stated
	}{}
}

// Forms returns the forms of Anchor.
func (Anchor) Forms() any {
	type stated Anchor
	return struct {
		Day    int64 `range:"1 28"`
		Stated stated
	}{}
}

// Forms returns the forms of Candidate.
func (Candidate) Forms() any {
	return struct {
		Units   int64  `range:"1 4294967295"`
		Percent string `example:"80%" pattern:"^[1-9][0-9]{0,3}%$"`
	}{}
}

// capacityForms are the forms of Capacities.
type capacityForms struct {
	Only   int64            `range:"1 4294967295"`
	ByName map[string]int64 `range:"1 4294967295" items:"1 0" example:"{requests: 60, tokens: 90000}" names:"^[a-z0-9][a-z0-9-]{0,30}$" not:"unlimited: one limit of a rule cannot be unlimited by itself: write a capacity that no key reaches"`
}

// Forms returns the forms of Capacities.
func (Capacities) Forms() any { return capacityForms{} }

// Forms returns the forms of PlanCapacity.
func (PlanCapacity) Forms() any {
	return struct {
		capacityForms
		Unlimited string `enum:"unlimited"`
	}{}
}

package envoy

import (
	"slices"

	"github.com/slidegate/slidegate/internal/ruledoc"
)

// criterion is one field of a selector and a value for it. The zero criterion
// covers all requests.
type criterion struct {
	field string // methods, route, path or caller, or a source for match
	value string
}

// criteria are a selector by its fields: all fields must match, by any of their
// values.
type criteria map[string][]string

// narrow adds a field. It reports false if the field has another value already.
func (c criteria) narrow(by criterion) bool {
	if values, ok := c[by.field]; ok {
		return slices.Equal(values, []string{by.value})
	}
	c[by.field] = []string{by.value}
	return true
}

// widen adds requests, to none at first. It reports false if one selector
// cannot cover these too.
func (c criteria) widen(by criterion) bool {
	if by.field == "" || len(c) > 0 && c[by.field] == nil {
		return false
	}
	c[by.field] = append(c[by.field], by.value)
	return true
}

// selector returns nil for no criteria.
func (c criteria) selector() *ruledoc.Selector {
	if len(c) == 0 {
		return nil
	}
	s := &ruledoc.Selector{Methods: c["methods"], Route: c["route"], Path: c["path"], Caller: c["caller"]}
	for field, values := range c {
		if !slices.Contains([]string{"methods", "route", "path", "caller"}, field) {
			if s.Match == nil {
				s.Match = map[string]ruledoc.Words{}
			}
			s.Match[field] = values
		}
	}
	return s
}

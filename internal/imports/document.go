package imports

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxDocument is well within what a rules document may hold, in bytes, and far beyond what a person can read.
const maxDocument = 1 << 20

// document is a rules document in the making.
type document struct {
	head  []string // comments
	deny  []denial
	plans []plan
	rules []*rule
	key   string // of the plan overrides; empty where there are no plans
}

type denial struct {
	comment  string
	cidr     string // empty for every address
	selector selector
}

type plan struct {
	comment    string
	name       string
	capacities []string // such as "api: 100" or "api: unlimited"
}

type rule struct {
	order        int // in the source
	comment      string
	name         string
	when, unless selector
	key          string
	limit        bound
	shadow       bool
	exceptions   []exception
}

// exception is an override of one key, in the document.
type exception struct {
	comment string
	key     string
	says    string // as the document has it
}

// bound is the one limit that an imported rule has.
type bound struct {
	algorithm string
	capacity  int64
	window    string
	burst     int64 // 0 for none
}

func (b bound) String() string {
	text := fmt.Sprintf("{algorithm: %s, capacity: %d, window: %s", b.algorithm, b.capacity, b.window)
	if b.burst > 0 {
		text += fmt.Sprintf(", burst: %d", b.burst)
	}
	return text + "}"
}

// selector says which requests something is for, as rules documents do: each of its fields holds, by any of its values.
type selector []criterion

// criterion is a field of a selector: methods, route, path or caller, or the source that match compares.
type criterion struct {
	field  string
	values []string
}

func (s selector) String() string {
	var fields, match []string
	for _, c := range s {
		switch c.field {
		case "methods":
			fields = append(fields, "methods: ["+commas(c.values)+"]")
		case "route", "path", "caller":
			fields = append(fields, c.field+": "+oneOrMore(c.values))
		default:
			match = append(match, quote(c.field)+": "+oneOrMore(c.values))
		}
	}
	if len(match) > 0 {
		fields = append(fields, "match: {"+strings.Join(match, ", ")+"}")
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// narrow adds a criterion; it reports whether the field was free, or says the same already.
func (s *selector) narrow(c criterion) bool {
	for _, have := range *s {
		if have.field == c.field {
			return slices.Equal(have.values, c.values)
		}
	}
	*s = append(*s, c)
	return true
}

// widen adds one more value to what a selector covers; it reports false where that takes a selector of another form.
func (s *selector) widen(c criterion) bool {
	switch {
	case c.field == "":
		return false
	case len(*s) == 0:
		*s = selector{{c.field, slices.Clone(c.values)}}
		return true
	case len(*s) > 1 || (*s)[0].field != c.field:
		return false
	}
	(*s)[0].values = append((*s)[0].values, c.values...)
	return true
}

func oneOrMore(values []string) string {
	if len(values) == 1 {
		return quote(values[0])
	}
	return "[" + commas(values) + "]"
}

func commas(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = quote(v)
	}
	return strings.Join(quoted, ", ")
}

// writer writes YAML until there is too much of it.
type writer struct{ bytes.Buffer }

func (w *writer) line(format string, args ...any) {
	if w.Len() <= maxDocument {
		fmt.Fprintf(w, format+"\n", args...)
	}
}

// write returns the document as YAML.
func (d *document) write() ([]byte, error) {
	slices.SortStableFunc(d.rules, func(a, b *rule) int { return cmp.Compare(a.order, b.order) })
	var w writer
	for _, c := range d.head {
		w.line("# %s", plain(c))
	}
	if len(d.deny) > 0 {
		w.line("deny:")
	}
	for _, e := range d.deny {
		w.line("  - %s # %s", e, plain(e.comment))
	}
	d.writePlans(&w)
	d.writeRules(&w)
	d.writeExceptions(&w)
	if w.Len() > maxDocument {
		return nil, fmt.Errorf("the import comes to %d rules in more than %d bytes, too many for one document: split the source and import its parts",
			len(d.rules), maxDocument)
	}
	return w.Bytes(), nil
}

func (e denial) String() string {
	fields := strings.TrimSuffix(e.selector.String(), "}")
	if e.cidr != "" {
		fields = strings.Replace(fields, "{", "{cidrs: ["+quote(e.cidr)+"], ", 1)
	}
	return strings.TrimSuffix(fields, ", ") + "}"
}

func (d *document) writePlans(w *writer) {
	if len(d.plans) == 0 {
		return
	}
	w.line("plan: {overrides: %s}", quote(d.key))
	w.line("plans:")
	for _, p := range d.plans {
		w.line("  %s: # %s", quote(p.name), plain(p.comment))
		for _, c := range p.capacities {
			w.line("    %s", c)
		}
	}
}

func (d *document) writeRules(w *writer) {
	if len(d.rules) == 0 {
		w.line("rules: []")
		return
	}
	w.line("rules:")
	for _, r := range d.rules {
		w.line("  # %s", plain(r.comment))
		w.line("  - name: %s", quote(r.name))
		if len(r.when) > 0 {
			w.line("    when: %s", r.when)
		}
		if len(r.unless) > 0 {
			w.line("    unless: %s", r.unless)
		}
		w.line("    key: %s", quote(r.key))
		w.line("    limits: [%s]", r.limit)
		if r.shadow {
			w.line("    mode: shadow")
		}
		if len(r.exceptions) > 0 {
			w.line("    overrides: true")
		}
	}
}

func (d *document) writeExceptions(w *writer) {
	begun := false
	for _, r := range d.rules {
		if len(r.exceptions) == 0 {
			continue
		}
		if !begun {
			w.line("overrides:")
			begun = true
		}
		w.line("  %s:", quote(r.name))
		for _, e := range r.exceptions {
			w.line("    %s: %s # %s", quote(e.key), e.says, plain(e.comment))
		}
	}
}

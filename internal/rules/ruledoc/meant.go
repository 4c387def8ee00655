package ruledoc

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Home says in which field a name belongs that a map of type of has and cannot
// have: limit for burst in a rule, say, or denied.status for status. The inner
// name is "" if it is the name of the field itself, which belongs at the top of
// the document. The field is "" if the name is no usual mistake.
func Home(of reflect.Type, name, value string) (field, inner string) {
	right := strings.TrimPrefix(InsteadOfField(of, name, value), "write ")
	switch i := strings.IndexAny(right, " .:"); {
	case i > 0 && right[i] == '.':
		return right[:i], right[i+1:]
	case right != "" || of != reflect.TypeFor[Rule]():
	case (&described{}).add(name, value):
		return fieldLimit, name
	case has(reflect.TypeFor[Document](), name):
		return name, ""
	}
	return "", ""
}

func has(of reflect.Type, name string) bool {
	return slices.ContainsFunc(Fields(of), func(f Field) bool { return f.Name == name })
}

// WriteField says how to write a field of a map of type of that has these names
// and values: at the top of the document if the map cannot have the field.
func WriteField(of reflect.Type, field string, values [][2]string) string {
	if of == reflect.TypeFor[Rule]() && field == fieldLimit {
		return limitsFrom(values)
	}
	var parts []string
	for _, v := range values {
		if v[0] == field { // which the file has, or /login for {path: /login}
			stated := strings.TrimPrefix(cmp.Or(Instead("", reflect.TypeFor[Selector](), v[1]), v[1]), "write ")
			parts = append(parts, strings.TrimSuffix(strings.TrimPrefix(stated, "{"), "}"))
		} else {
			parts = append(parts, v[0]+": "+v[1])
		}
	}
	text := field + ": {" + strings.Join(parts, ", ") + "}"
	if values[0][0] == "" {
		text = field + parts[0]
	}
	if !has(of, field) {
		text += " at the top of the document"
	}
	return text
}

// described are the limits that names and values describe, as people write them.
type described struct {
	rates  []Limit
	own    Limit    // that single values describe
	quota  Limit    // a second one, of names such as quota_period
	others []string // fields of limits with their values
}

var windowName = Regexp(`(?i)^(?:(?:time_?|rate_?|(?:re)?fill_?|evaluation_?)?(?:window|period|interval|duration)_?(?:size|in)?_?([a-z]*)|per|per_?(seconds|minutes|hours|days)|every|seconds|time|ttl|(?:time_?)?unit)$`)

// unitOfName leaves the unit of names such as daily_limit.
var unitOfName = strings.NewReplacer("hourly", "hour", "daily", "day", "weekly", "week", "monthly", "month", "_limit", "", "_quota", "", "_max", "")

// add adds a name and its value; ok is false if they do not describe a limit.
func (d *described) add(name, value string) (ok bool) {
	own, prefix := &d.own, ""
	if rest, ok := strings.CutPrefix(strings.ToLower(name), "quota"); ok {
		own, prefix, name = &d.quota, "quota_", cmp.Or(strings.Trim(rest, "_-"), fieldLimit)
	}
	n, isNumber := MeantNumber(value)
	word := unitOfName.Replace(strings.ToLower(name))
	word = word[strings.LastIndexByte(word, '_')+1:]
	if len(word) == 3 && word[1] == 'p' { // rps, rpm
		word = word[2:]
	}
	window := windowName().FindStringSubmatch(name)
	field := cmp.Or(strings.TrimPrefix(InsteadOfField(reflect.TypeFor[Limit](), name, value), "write "), name)
	unit := slices.IndexFunc(rateWords, func(w rateWord) bool { return word != "" && (word == w.word || word == w.short) })
	switch {
	case window != nil:
		length, _ := ParseDuration(MeantDuration(value + window[1] + window[2]))
		own.Window = cmp.Or(MeantDuration(value), strings.TrimPrefix(FormatDuration(length), "0s"), MeantDuration(value+"s"))
		return own.Window != ""
	case isNumber && unit >= 0:
		d.rates = append(d.rates, Limit{Capacity: n, Window: rateWords[unit].window})
	case field == "burst":
		d.own.Burst = cmp.Or(n, -1) // twice the capacity
	case field == "capacity" && isNumber || field == fieldLimit && isNumber:
		if own.Capacity != 0 && own.Capacity != n { // a rate, and the size of its bucket
			own.Burst, n = max(own.Capacity, n), min(own.Capacity, n)
		}
		own.Capacity = n
	case field == "capacity" || field == fieldLimit || field == fieldLimits:
		if strings.HasPrefix(value, "{") {
			return !slices.ContainsFunc(valuesOf(value), func(e [2]string) bool { return !d.add(prefix+e[0], e[1]) })
		}
		for rate := range strings.SplitSeq(strings.Trim(value, "[]"), ", ") {
			l, ok := readRate(cmp.Or(meantRate(rate), rate))
			if strings.Trim(l.Window, "0123456789") == "" {
				l.Window += "s"
			}
			if d.rates = append(d.rates, l); !ok {
				return false
			}
		}
	default:
		d.others = append(d.others, field+": "+value)
		return has(reflect.TypeFor[statedLimit](), field)
	}
	return true
}

// valuesOf returns the names and values of a map in one line.
func valuesOf(text string) (all [][2]string) {
	for entry := range strings.SplitSeq(strings.Trim(text, "{}"), ", ") {
		name, value, _ := strings.Cut(entry, ": ")
		all = append(all, [2]string{name, value})
	}
	return all
}

// limitsFrom returns the field of a rule with the limits that names and values
// describe; "" if they describe none.
func limitsFrom(values [][2]string) string {
	var d described
	if slices.ContainsFunc(values, func(v [2]string) bool { return !d.add(v[0], v[1]) }) {
		return ""
	}
	if d.quota.Capacity != 0 && d.quota.Window == "" { // period, beside quota
		d.quota.Window, d.own.Window = cmp.Or(d.own.Window, "1mo"), ""
	}
	if d.own.Capacity != 0 && d.own == (Limit{Capacity: d.own.Capacity}) && len(d.rates) > 0 { // the size of a bucket
		d.own.Capacity, d.own.Burst = 0, d.own.Capacity
	}
	if d.own.Capacity != 0 || len(d.rates) == 0 && d.quota.Capacity == 0 {
		window := map[bool]string{true: "1m", false: "1s"}[d.own.Burst == 0] // buckets of other programs fill by the second
		d.rates = slices.Insert(d.rates, 0, Limit{Capacity: cmp.Or(d.own.Capacity, 100), Window: cmp.Or(d.own.Window, window)})
	}
	if d.quota.Capacity != 0 {
		d.rates = append(d.rates, d.quota)
	}
	size := func(l Limit) string { return fmt.Sprintf("capacity: %d, window: %s", l.Capacity, l.Window) }
	var written []string
	for _, l := range d.rates {
		written = append(written, cmp.Or(l.Rate(), "{"+size(l)+"}"))
	}
	first := d.rates[0]
	if burst := d.own.Burst; burst != 0 { // of a bucket, which does not follow the calendar
		first.Window = cmp.Or(map[string]string{"1w": "7d", "1mo": "30d"}[first.Window], first.Window)
		rest := slices.DeleteFunc(d.others, func(other string) bool { return strings.HasPrefix(other, "algorithm: ") })
		d.others = append([]string{"algorithm: token_bucket", fmt.Sprintf("burst: %d", max(burst, -2*burst*first.Capacity))}, rest...)
	}
	if len(d.others) > 0 {
		written[0] = "{" + strings.Join(slices.Insert(d.others, 1, size(first)), ", ") + "}"
	}
	if len(written) > 1 {
		return fieldLimits + ": [" + strings.Join(written, ", ") + "]"
	}
	return fieldLimit + ": " + written[0]
}

// insteadOfLimits says what to write in place of a map for a limit, or for a list
// of limits, with names that limits do not have; "" if it is no usual mistake.
func insteadOfLimits(of reflect.Type, text string) string {
	unusual := func(e [2]string) bool { return !has(reflect.TypeFor[statedLimit](), e[0]) }
	list := of == reflect.TypeFor[[]Limit]()
	values := valuesOf(text)
	if of != reflect.TypeFor[Limit]() && !list || !slices.ContainsFunc(values, unusual) {
		return ""
	}
	right := limitsFrom(values)
	_, value, _ := strings.Cut(right, ": ")
	switch {
	case right == "":
		return instead(ofType(reflect.TypeFor[Limit](), "each"), text)
	case list:
		return "write [" + strings.Trim(value, "[]") + "]"
	case value[0] == '[':
		return "write " + right + ", in place of limit"
	}
	return "write " + value
}

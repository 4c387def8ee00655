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
	case limitsFrom([][2]string{{name, value}}) != "":
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

var windowName = Regexp(`(?i)^(?:(?:time_?|rate_?|(?:re)?fill_?|evaluation_?)?(?:window|period|interval|duration)_?(?:size|in)?_?([a-z]*)|per|per_?(seconds|minutes|hours|days)|every|seconds|time|ttl|(?:time_?)?unit)$`)

// unitOfName leaves the unit of names such as daily_limit.
var unitOfName = strings.NewReplacer("hourly", "hour", "daily", "day", "weekly", "week", "monthly", "month", "_limit", "", "_quota", "", "_max", "")

// valuesOf returns the names and values of a map in one line.
func valuesOf(text string) (all [][2]string) {
	for entry := range strings.SplitSeq(strings.Trim(text, "{}"), ", ") {
		name, value, _ := strings.Cut(entry, ": ")
		all = append(all, [2]string{name, value})
	}
	return all
}

// limitsFrom returns the field of a rule with the limits that names and values
// describe, as people write them; "" if one of them describes none.
func limitsFrom(values [][2]string) string {
	var rates []Limit
	var own, quota Limit // that single values describe: the second of names such as quota_period
	var others []string  // fields of limits with their values
	for len(values) > 0 {
		name, value := values[0][0], values[0][1]
		values = values[1:]
		into, prefix := &own, ""
		if rest, ok := strings.CutPrefix(strings.ToLower(name), "quota"); ok {
			into, prefix, name = &quota, "quota_", cmp.Or(strings.Trim(rest, "_-"), fieldLimit)
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
		switch size := field == "capacity" || field == fieldLimit; {
		case window != nil:
			length, _ := ParseDuration(MeantDuration(value + window[1] + window[2]))
			if into.Window = cmp.Or(MeantDuration(value), strings.TrimPrefix(FormatDuration(length), "0s"), MeantDuration(value+"s")); into.Window == "" {
				return ""
			}
		case isNumber && unit >= 0:
			rates = append(rates, Limit{Capacity: n, Window: rateWords[unit].window})
		case field == "burst":
			own.Burst = cmp.Or(n, -1) // twice the capacity
		case size && isNumber:
			if into.Capacity != 0 && into.Capacity != n { // a rate, and the size of its bucket
				into.Burst, n = max(into.Capacity, n), min(into.Capacity, n)
			}
			into.Capacity = n
		case (size || field == fieldLimits) && strings.HasPrefix(value, "{"):
			for _, inner := range slices.Backward(valuesOf(value)) {
				values = slices.Insert(values, 0, [2]string{prefix + inner[0], inner[1]})
			}
		case size || field == fieldLimits:
			for rate := range strings.SplitSeq(strings.Trim(value, "[]"), ", ") {
				l, ok := readRate(cmp.Or(meantRate(rate), rate))
				if !ok {
					return ""
				}
				if strings.Trim(l.Window, "0123456789") == "" {
					l.Window += "s"
				}
				rates = append(rates, l)
			}
		case !has(reflect.TypeFor[statedLimit](), field):
			return ""
		default:
			others = append(others, field+": "+value)
		}
	}
	if quota.Capacity != 0 && quota.Window == "" { // period, beside quota
		quota.Window, own.Window = cmp.Or(own.Window, "1mo"), ""
	}
	if own.Capacity != 0 && own == (Limit{Capacity: own.Capacity}) && len(rates) > 0 { // the size of a bucket
		own.Capacity, own.Burst = 0, own.Capacity
	}
	if own.Capacity != 0 || len(rates) == 0 && quota.Capacity == 0 {
		window := map[bool]string{true: "1m", false: "1s"}[own.Burst == 0] // buckets of other programs fill by the second
		rates = slices.Insert(rates, 0, Limit{Capacity: cmp.Or(own.Capacity, 100), Window: cmp.Or(own.Window, window)})
	}
	if quota.Capacity != 0 {
		rates = append(rates, quota)
	}
	size := func(l Limit) string { return fmt.Sprintf("capacity: %d, window: %s", l.Capacity, l.Window) }
	var written []string
	for _, l := range rates {
		written = append(written, cmp.Or(l.Rate(), "{"+size(l)+"}"))
	}
	first := rates[0]
	if burst := own.Burst; burst != 0 { // of a bucket, which does not follow the calendar
		first.Window = cmp.Or(map[string]string{"1w": "7d", "1mo": "30d"}[first.Window], first.Window)
		rest := slices.DeleteFunc(others, func(other string) bool { return strings.HasPrefix(other, "algorithm: ") })
		others = append([]string{"algorithm: token_bucket", fmt.Sprintf("burst: %d", max(burst, -2*burst*first.Capacity))}, rest...)
	}
	if len(others) > 0 {
		written[0] = "{" + strings.Join(slices.Insert(others, 1, size(first)), ", ") + "}"
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

package yamlfile

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// union decodes a value into the form that fits it, and has the type read that.
// Errors in parts leave the rest of the value.
func (d *decoder) union(n node, into reflect.Value, forms reflect.Type, tags ruledoc.Tags) {
	if what, why, ok := strings.Cut(tags.Not, ": "); ok && n.is() == what {
		d.refuse(n, "%s", why)
		return
	}
	before := len(d.errors)
	form := n.choose(ruledoc.Fields(forms))
	v := reflect.New(form.Type).Elem()
	if form.Type.Kind() == reflect.Struct {
		found := d.object(n, v)
		if !form.Tags.Partial {
			d.requireFields(n, found, ruledoc.Fields(form.Type))
		}
	} else {
		d.value(n, v, tags.With(form.Tag))
	}
	if d.undecoded[n.path] {
		return
	}
	if word := v.String(); form.Tag.Get("enum") != "" && !slices.Contains(form.Tags.Enum, word) {
		d.refuse(n, "unknown value %q: %s", word, ruledoc.Suggest(word, form.Tags.Enum, "write", "or"))
		return
	}
	text, err := json.Marshal(v.Interface())
	if err == nil {
		err = json.Unmarshal(text, into.Addr().Interface())
	}
	if err != nil && len(d.errors) == before {
		d.refuse(n, "%s", err)
	}
}

// requireFields reports fields that a form needs. Without them the Go value
// might stand for another form.
func (d *decoder) requireFields(n node, found map[string]entry, fields []ruledoc.Field) {
	for _, f := range fields {
		if _, ok := found[f.Name]; !ok && f.Tags.Need != "" && !d.undecoded[n.path] {
			d.fail(n, "%s is missing: %s", f.Name, f.Tags.Need)
			d.undecoded[ruledoc.Join(n.path, f.Name)] = true
		}
	}
}

// choose returns the form that fits the node, or the first if none does.
func (n node) choose(forms []ruledoc.Field) ruledoc.Field {
	i := slices.IndexFunc(forms, func(f ruledoc.Field) bool { return n.fits(f.Type.Kind()) })
	return forms[max(i, 0)]
}

// fits reports whether the node probably means a value of a kind. Digits in
// quotes were probably meant to be a number.
func (n node) fits(kind reflect.Kind) bool {
	switch n.is() {
	case "a map":
		return kind == reflect.Struct || kind == reflect.Map
	case "a list":
		return kind == reflect.Slice
	case "true or false":
		return kind == reflect.Bool
	case "text":
		if strings.Trim(n.Value, "0123456789") != "" {
			return kind == reflect.String
		}
	}
	return kind == reflect.Int64
}

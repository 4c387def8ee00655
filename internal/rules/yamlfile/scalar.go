package yamlfile

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// text decodes a text.
func (d *decoder) text(n node, tags ruledoc.Tags) string {
	written, is := n.Value, n.is()
	if odd := oddCharacter(n.Node); odd != "" && tags.Scalar && !d.foreign { // any text is a value there
		d.refuse(n, "%s", odd)
		return ""
	}
	if is == "text" {
		if written == "" && tags.Example != "" && !tags.Empty && !tags.Scalar {
			d.refuse(n, "is empty: write text, such as %s", tags.Example)
		}
		return written
	}
	_, notTime := time.ParseDuration(tags.Example)
	switch {
	case is == "empty":
		d.refuse(n, "is empty: write text, such as %s", tags.Example)
	case n.inBraces() != "":
		d.refuse(n, "{%s} without quotes is a YAML map: write \"{%[1]s}\"", n.inBraces())
	case is == "a map" || is == "a list":
		d.refuse(n, "must be text%s, and is %s", suchAs(tags), is)
	case d.foreign:
		return written
	case tags.Scalar && is == "true or false":
		return strings.ToLower(written)
	case tags.Scalar:
		if !json.Valid([]byte(written)) {
			d.refuse(n, "%s is not a number as JSON writes one: put it in quotes, as the token has it", written)
		}
		return written
	case n.Tag == "!!int" && notTime == nil:
		d.refuse(n, "needs a unit: write %ss for seconds", written)
	case !regexp.MustCompile(tags.Pattern).MatchString(written):
		d.refuse(n, "must be text%s, and is %s", suchAs(tags), is)
	default:
		d.refuse(n, "must be text, and is %s: write %q", is, written)
	}
	return ""
}

// suchAs quotes the example, if there is one, for the middle of a sentence.
func suchAs(tags ruledoc.Tags) string {
	if tags.Example == "" {
		return ""
	}
	return ", such as " + tags.Example
}

// inBraces returns what stands in the braces of a map that was meant to be a
// text such as {ip}: one name and no value.
func (n node) inBraces() string {
	if n.Style&yaml.FlowStyle == 0 || len(n.Content) != 2 || n.Content[1].Tag != "!!null" {
		return ""
	}
	return n.Content[0].Value
}

// integer decodes a whole number of so many bits within the range of the tags.
func (d *decoder) integer(n node, bits int, tags ruledoc.Tags) int64 {
	text := n.Value
	if word, why, ok := strings.Cut(tags.Not, ": "); ok && text == word {
		d.refuse(n, "%s", why)
		return 0
	}
	digits := strings.TrimPrefix(text, "-")
	least, most := max(tags.Range[0], -1<<(bits-1)), min(tags.Range[1], 1<<(bits-1)-1)
	if n.Style != 0 || digits == "" || strings.Trim(digits, "0123456789") != "" || len(digits) > 1 && digits[0] == '0' {
		instead := fmt.Sprintf(", such as %d", min(max(least, 10), most))
		if meant, ok := ruledoc.MeantNumber(text); ok && meant >= least && meant <= most {
			instead = fmt.Sprintf(": write %d", meant)
		}
		d.refuse(n, "must be a whole number in plain digits without quotes%s", instead)
		return 0
	}
	i, err := strconv.ParseInt(text, 10, bits) // fails for numbers out of range alone
	if err != nil || i < least || i > most {
		d.refuse(n, "%s is out of range: write a number from %d to %d", text, least, most)
		return 0
	}
	return i
}

// meantBooleans are texts that YAML or its authors once took for booleans.
var meantBooleans = map[string]bool{"yes": true, "on": true, "true": true, "no": false, "off": false, "false": false}

// boolean decodes true or false. A field that may only be true counts as true
// if it is wrong: it is stated, which is what other checks go by.
func (d *decoder) boolean(n node, tags ruledoc.Tags) bool {
	is := strings.EqualFold(n.Value, "true")
	switch {
	case n.Tag != "!!bool":
		instead := ""
		if meant, ok := meantBooleans[strings.ToLower(n.Value)]; ok && (meant || !tags.Only) {
			instead = fmt.Sprintf(": write %t", meant)
		}
		d.refuse(n, "must be true or false, and is %s%s", n.is(), instead)
		return tags.Only
	case tags.Only && !is:
		d.refuse(n, "says nothing where it is false: write true, or remove it")
		return true
	}
	return is
}

// time decodes a time with its offset from UTC.
func (d *decoder) time(n node, tags ruledoc.Tags) time.Time {
	text := d.text(n, tags)
	t, err := time.Parse(time.RFC3339, text)
	if err != nil && !d.undecoded[n.path] {
		d.refuse(n, "%q is no time: write one such as 2026-12-31T00:00:00Z, or 2026-12-31T00:00:00+01:00", text)
	}
	return t
}

// free decodes a value for which there is no type: into map[string]any, []any,
// string, bool, nil, or json.Number, which holds a number as the file has it.
func (d *decoder) free(n node) any {
	switch n.is() {
	case "a map":
		m := map[string]any{}
		d.entries(n, reflect.ValueOf(&m).Elem(), ruledoc.NoTags)
		return m
	case "a list":
		var list []any
		d.list(n, reflect.ValueOf(&list).Elem(), ruledoc.NoTags)
		return list
	case "true or false":
		return d.boolean(n, ruledoc.NoTags)
	case "a number":
		return json.Number(n.Value)
	case "empty":
		return nil
	}
	return n.Value
}

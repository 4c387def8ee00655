package imports

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// quote writes text as YAML, in quotes unless it cannot be taken for anything else.
func quote(text string) string {
	plain := text != "" && (isLetter(text[0]) || text[0] == '/')
	for i := range len(text) {
		plain = plain && (isLetter(text[i]) || isDigit(text[i]) || strings.IndexByte("/._*-", text[i]) >= 0)
	}
	switch strings.ToLower(text) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		plain = false
	}
	if plain {
		return text
	}
	return strings.ReplaceAll(strconv.Quote(text), "<", `\u003c`) // which YAML reads as it is, and a row of < not
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// longest is how much of a source's text a message or a comment repeats, in bytes.
const longest = 60

// short cuts text that is too long to repeat.
func short(text string) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}

// keyValue writes a value in the key of an override: as it is, unless that could be read as escapes. Then all of it is
// escaped, as requests have it in their keys. A value that is a hyphen alone would be read as one that is lacking.
func keyValue(value string) string {
	if value == "-" {
		return "%2D"
	}
	if !strings.Contains(value, "%") {
		return value
	}
	var b strings.Builder
	for _, c := range []byte(value) {
		if c == '%' || c == ':' || c == '|' || c < ' ' || c > '~' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// show writes a source's text in a message or a comment: in quotes where it could be taken for something else.
func show(text string) string {
	text = short(text)
	if quoted := strconv.Quote(text); text == "" || quoted != `"`+text+`"` {
		return quoted
	}
	return text
}

// plain keeps a comment on its line.
func plain(comment string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || c == utf8.RuneError {
			return '?'
		}
		return c
	}, comment)
}

// names gives each rule one of its own: how many have the same words so far.
type names map[string]int

// reserved are the names that a rules document has a meaning for.
var reserved = []string{"deny", "unmatched", "undisclosed", "plan"}

// longestName is a little less than a rule may have, for a number at the end.
const longestName = 56

// take makes a name of words: lower-case letters, digits and hyphens.
func (n names) take(words ...string) string {
	base := slug(strings.Join(words, "-"))
	for {
		n[base]++
		name := base
		if n[base] > 1 {
			name = fmt.Sprintf("%s-%d", base, n[base])
		}
		if !slices.Contains(reserved, name) && (name == base || n[name] == 0) {
			n[name] = max(n[name], 1)
			return name
		}
	}
}

func slug(text string) string {
	var b []byte
	for _, c := range []byte(strings.ToLower(text)) {
		switch {
		case isLetter(c) || isDigit(c):
			b = append(b, c)
		case len(b) > 0 && b[len(b)-1] != '-':
			b = append(b, '-')
		}
		if len(b) == longestName {
			break
		}
	}
	if name := strings.Trim(string(b), "-"); name != "" {
		return name
	}
	return "rule"
}

package imports

import (
	"fmt"
	"strconv"
	"strings"
)

// longestQuote is how many bytes of a source's text a message repeats.
const longestQuote = 60

// Short cuts text that is too long for a message.
func Short(text string) string {
	if len(text) <= longestQuote {
		return text
	}
	return strings.ToValidUTF8(text[:longestQuote], "") + "…"
}

// Show returns text for a message: cut if it is long, and in quotes if it is
// empty or has characters that need escapes.
func Show(text string) string {
	text = Short(text)
	if quoted := strconv.Quote(text); text == "" || quoted != `"`+text+`"` {
		return quoted
	}
	return text
}

// KeyValue returns a value as the key of an override has it: unchanged, unless
// it contains a percent sign, which would start an escape. Then KeyValue
// escapes all of it, as requests' keys have it. It also escapes the value "-",
// which stands for a missing value in keys.
func KeyValue(value string) string {
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

package imports

import (
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

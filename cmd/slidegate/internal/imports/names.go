package imports

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// Names gives each rule a unique name. It maps a name to the number of rules
// that wanted it.
type Names map[string]int

// longestName is shorter than the longest name of a rule by the room for a
// number.
const longestName = 56

// Take returns a name that it has not returned before: the words in lower-case
// letters, digits and hyphens, and a number if another rule has that name.
func (n Names) Take(words ...string) string {
	var start []string // long values may come with many rules
	for _, w := range words {
		start = append(start, w[:min(len(w), 4*longestName)])
	}
	base := cmp.Or(ruledoc.Slug(strings.Join(start, "-"), longestName), "rule")
	for {
		n[base]++
		name := base
		if n[base] > 1 {
			name = fmt.Sprintf("%s-%d", base, n[base])
		}
		if ruledoc.ReservedNames[name] == "" && (name == base || n[name] == 0) {
			n[name] = max(n[name], 1)
			return name
		}
	}
}

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

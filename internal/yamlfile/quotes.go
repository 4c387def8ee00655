package yamlfile

import (
	"fmt"
	"strings"
)

// alias finds text that begins with a star, which names an alias in YAML.
func (m *mistake) alias() string {
	if !strings.HasPrefix(m.Message, "unknown anchor ") {
		return ""
	}
	line, at := m.line()
	return fmt.Sprintf("text that begins with * needs quotes: write %q; aliases are not supported", plainWord.FindString(line[at:]))
}

func (m *mistake) escape() string {
	if !strings.HasPrefix(m.Message, "found unknown escape character") {
		return ""
	}
	return `\ begins an escape in double quotes: write single quotes, or \\ for \`
}

// besideQuotes finds text behind a closing quote. If a line above has a quote
// without its partner, the text in quotes began there.
func (m *mistake) besideQuotes() string {
	line, at := m.line()
	before := strings.TrimRight(line[:at], " ")
	if !strings.HasSuffix(before, `"`) && !strings.HasSuffix(before, "'") {
		return ""
	}
	quote := before[len(before)-1:]
	for n := m.place.Line - 1; n > 0; n-- {
		text, _, _ := strings.Cut(m.lines[n-1], "#") // an apostrophe in a comment is no quote
		if strings.Count(text, quote)%2 == 1 {
			m.place.Line = n
			m.moveTo(strings.LastIndex(text, quote))
			return fmt.Sprintf("this quote is not closed in its line: write another %s at the end of the text", quote)
		}
	}
	if m.Message != "did not find expected key" {
		return ""
	}
	return "text follows the quotes: put all of it in quotes, or remove it"
}

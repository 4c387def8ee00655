package yamlfile

import (
	"fmt"
	"strings"
	"testing"
)

// Texts beyond a bound are refused, and texts just within it are not.
func TestBounds(t *testing.T) {
	rep := strings.Repeat
	keys := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for _, tt := range []struct {
		name string
		make func(n int) string
		most int // the largest n that is taken
		want string
	}{
		{"bytes", func(n int) string { return "rules: [] #" + rep("x", n-11) }, MaxDocument, "the document has more than 4194304 bytes, which is the most"},
		{"marks", func(n int) string { return "rules: [] #" + rep(rep("-", 80)+"\n#", n/81) + rep("-", n%81-4) }, maxMarks, "too many values"},
		{"brackets", func(n int) string { return "x: " + rep("[", n-1) + rep("]", n-1) + "\nrules: []" }, maxDepth, "more than 32 maps and lists within each other"},
		{"braces", func(n int) string { return rep("{x: ", n) + "1" + rep("}", n) }, maxDepth, "more than 32 maps and lists within each other"},
		{"dashes", func(n int) string { return rep("- ", n) + "x" }, maxDepth, "more than 32 maps and lists within each other"},
		{"indentation", func(n int) string {
			var b strings.Builder
			for i := range n {
				b.WriteString(rep(" ", i) + "x:\n")
			}
			return b.String() + rep(" ", n) + "1"
		}, maxDepth, "more than 32 maps and lists within each other"},
		{"keys", func(n int) string { return keys(n, "k%d: 1\n") }, maxEntries, "more than 16384 entries in one map or list"},
		{"quoted keys", func(n int) string { return keys(n, "'k%d' : 1 # x\n") }, maxEntries, "more than 16384 entries in one map or list"},
		{"keys below", func(n int) string { return "x:\n" + keys(n, "  k%d:\n  - 1\n") }, maxEntries, "more than 16384 entries in one map or list"},
		{"keys in braces", func(n int) string { return "{" + keys(n, "k%d: 1, ") + "}" }, maxEntries, "more than 16384 entries in one map or list"},
		{"list", func(n int) string { return rep("- 1\n", n) }, maxEntries, "more than 16384 entries in one map or list"},
		{"list in brackets", func(n int) string { return "[" + rep("1, ", n) + "]" }, maxEntries, "more than 16384 entries in one map or list"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, refused := parse([]byte(tt.make(tt.most)), maxEntries); len(refused) > 0 {
				t.Errorf("%d are refused: %.200v", tt.most, refused)
			}
			_, refused := Decode("f", []byte(tt.make(tt.most+1)), new(any))
			if refused == nil || !strings.Contains(refused.Error(), tt.want) {
				t.Errorf("%d: error %.200v, want %q", tt.most+1, refused, tt.want)
			}
		})
	}
}

// Texts within the bounds that take parsers minutes if their time grows with the
// square of what stands in a row.
func TestHardTexts(t *testing.T) {
	rep := strings.Repeat
	for _, tt := range []struct{ name, text string }{
		{"blank lines", "rules: []\n" + rep(" \n", 1<<20) + "# end\n"},
		{"blank lines in a literal", "x: |\n" + rep("\n", 1<<20) + "  a\n"},
		{"blank lines of old macs", "rules: []\r" + rep("\r", 1<<20) + "#"},
		{"angles", "rules: [] # é" + rep("<", 1<<20)},
		{"keys of many maps", rep("- k: 1\n"+rep("  k: 1\n", 8191), 9)},
		{"comments", "x:\n" + rep("# c\n- 1\n", maxEntries)},
		{"long texts", "x: \"" + rep("a\n", 1<<20) + "\""},
		{"empty entries", rep("-\n", maxEntries)},
		{"empty values", rep("- x:\n", maxEntries)},
		{"names in braces", "{" + rep("x, ", maxEntries) + "}"},
		{"empty values in braces", "{" + rep("x: , ", maxEntries) + "}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, refused := parse([]byte(tt.text), maxEntries); len(refused) > 0 {
				t.Errorf("error %.200v", refused)
			}
		})
	}
}

// Names are parts of the paths of all that stands below them, and checks walk
// paths step by step.
func TestLongNames(t *testing.T) {
	for _, n := range []int{maxName, maxName + 1} {
		_, err := Decode("f", []byte("a: {\""+strings.Repeat(".", n)+"\": 1}"), new(any))
		if want := "f:1:5: a: a name in it has 2049 bytes, and 2048 is the most: shorten it"; n > maxName && (err == nil || err.Error() != want) || n <= maxName && err != nil {
			t.Errorf("%d: error %.200v, want %q", n, err, want)
		}
	}
}

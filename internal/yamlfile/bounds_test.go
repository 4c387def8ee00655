package yamlfile

import (
	"fmt"
	"strings"
	"testing"
)

// Each of these took the YAML library minutes, or a stack without end. They must
// be refused before it sees them, and texts just within the bounds must not be.
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
		{"bytes", func(n int) string { return "rules: [] #" + rep("x", n-11) }, maxDocument, "the document has 4194305 bytes, and 4194304 is the most"},
		{"marks", func(n int) string { return "rules: [] #" + rep(rep("-", 80)+"\n#", n/81) + rep("-", n%81-4) }, maxMarks, "too many values"},
		{"blank lines", func(n int) string { return "rules: []\n" + rep(" \n", n) + "# end\n" }, maxRun, "more than 64 blank lines in a row"},
		{"blank lines in a literal", func(n int) string { return "x: |\n" + rep("\n", n) + "  a\nrules: []\n" }, maxRun, "more than 64 blank lines in a row"},
		{"blank lines of old macs", func(n int) string { return "rules: []\r" + rep("\r", n) + "#" }, maxRun, "more than 64 blank lines in a row"},
		{"angles", func(n int) string { return "rules: [] # é" + rep("<", n) }, maxRun, "more than 64 < in a row"},
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
		{"keys of many maps", func(n int) string { // 8 maps of 8,192 keys come to the bound
			return strings.Repeat("- "+strings.ReplaceAll(strings.TrimSpace(keys(8192, "k%d: 1\n")), "\n", "\n  ")+"\n", 8) + keys(n, "k%d: 1\n")
		}, 0, "the maps have too many keys together"},
		{"keys in braces", func(n int) string { return "{" + keys(n, "k%d: 1, ") + "}" }, maxEntries, "more than 16384 entries in one map or list"},
		{"list", func(n int) string { return rep("- 1\n", n) }, maxEntries, "more than 16384 entries in one map or list"},
		{"list in brackets", func(n int) string { return "[" + rep("1, ", n) + "1]" }, maxEntries, "more than 16384 entries in one map or list"},
		{"empty entries", func(n int) string { return rep("-\n", n) + "- 1" }, maxEmpty, "more than 1000 entries without a value"},
		{"empty values", func(n int) string { return rep("- x:\n", n) }, maxEmpty, "more than 1000 entries without a value"},
		{"names in braces", func(n int) string { return "{" + rep("x, ", n) + "}" }, maxEmpty, "more than 1000 entries without a value"},
		{"empty values in braces", func(n int) string { return "{" + rep("x: , ", n) + "}" }, maxEmpty, "more than 1000 entries without a value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text, err := readText([]byte(tt.make(tt.most)))
			if refused := checkStructure(tokenize(text)); err != nil || len(refused) > 0 {
				t.Errorf("%d are refused: %.200v%.200v", tt.most, err, refused)
			}
			_, refused := Decode("f", []byte(tt.make(tt.most+1)), new(any))
			if refused == nil || !strings.Contains(refused.Error(), tt.want) {
				t.Errorf("%d: error %.200v, want %q", tt.most+1, refused, tt.want)
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

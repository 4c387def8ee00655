package imports

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml/ast"

	"github.com/slidegate/slidegate/internal/yamlfile"
)

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"gold": "gold", "/v1/**": "/v1/**", "a.b_c-d": "a.b_c-d", "": `""`, "7": `"7"`, "1e3": `"1e3"`, "-": `"-"`, "*": `"*"`,
		"true": `"true"`, "No": `"No"`, "y": `"y"`, "null": `"null"`, "~": `"~"`, "a b": `"a b"`, "a:b": `"a:b"`, "{ip}": `"{ip}"`,
		"a#b": `"a#b"`, `a"\`: `"a\"\\"`, "\n": `"\n"`, "é": `"é"`, "<<": `"\u003c\u003c"`,
	} {
		if got := quote(text); got != want {
			t.Errorf("quote(%q) = %s, want %s", text, got, want)
		}
	}
}

// What quote writes is read back as it was, wherever it stands.
func FuzzQuote(f *testing.F) {
	for _, text := range []string{"a", "", "\u2028", "\x7f\u0085\ufeff", "\U0001F600", "'\"`", strings.Repeat("<", 99), "- a", "? a: b", "%", "@", "\t", "a\r\nb"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "")
		root, err := yamlfile.ReadTree("f", []byte("x: {"+quote(text)+": ["+quote(text)+"]}\n"))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		inner := root.(*ast.MappingNode).Values[0].Value.(*ast.MappingNode).Values[0]
		if got := inner.Key.GetToken().Value; got != text {
			t.Errorf("the key %q is read as %q", text, got)
		}
		if got, ok := inner.Value.(*ast.SequenceNode).Values[0].(*ast.StringNode); !ok || got.Value != text {
			t.Errorf("%q is read as %v", text, got)
		}
	})
}

func TestShow(t *testing.T) {
	long := strings.Repeat("é", 40)
	for text, want := range map[string]string{
		"a b": "a b", "": `""`, `"`: `"\""`, "a\nb": `"a\nb"`, "\u2028": `"\u2028"`, long: strings.Repeat("é", 30) + "…",
	} {
		if got := show(text); got != want {
			t.Errorf("show(%q) = %s, want %s", text, got, want)
		}
	}
	if got := plain("a\nb\x00c\xff"); got != "a?b?c?" {
		t.Errorf("got %q", got)
	}
}

func TestNames(t *testing.T) {
	n := names{}
	for _, tt := range []struct{ words, want string }{
		{"Remote_Address", "remote-address"}, {"remote address", "remote-address-2"}, {"remote-address-2", "remote-address-2-2"},
		{"remote-address", "remote-address-3"}, {"--a//b--", "a-b"}, {"", "rule"}, {"é", "rule-2"}, {"deny", "deny-2"}, {"unmatched", "unmatched-2"},
		{"plan", "plan-2"}, {"7", "7"}, {strings.Repeat("x", 99), strings.Repeat("x", 56)}, {strings.Repeat("x", 80), strings.Repeat("x", 56) + "-2"},
	} {
		if got := n.take(tt.words); got != tt.want {
			t.Errorf("the name of %q is %s, want %s", tt.words, got, tt.want)
		}
	}
}

// However names come, no two are the same, and all are such as rules may have.
func TestNamesAreUnique(t *testing.T) {
	form := regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
	r := rand.New(rand.NewPCG(3, 4))
	n, seen := names{}, map[string]bool{}
	for range 5000 {
		words := ""
		for range r.IntN(4) {
			words += string("ab2-"[r.IntN(4)])
		}
		name := n.take(words)
		if seen[name] || !form.MatchString(name) {
			t.Fatalf("%q is the name of two, or none at all", name)
		}
		seen[name] = true
	}
}

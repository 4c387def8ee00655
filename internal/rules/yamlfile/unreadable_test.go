package yamlfile

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// Text that is no plain YAML: one message, with the place and the way out.
func TestUnreadable(t *testing.T) {
	for _, tt := range []struct{ name, document, want string }{
		{"empty", "", "f:1:1: the document is empty: write rules: [] if the document should limit nothing"},
		{"comments", "# nothing yet\n", "f:1:1: the document is empty: write rules: [] if the document should limit nothing"},
		{"null", "~", "f:1:1: must be a map with fields such as \"rules:\", and is empty"},
		{"word", "rules", "f:1:1: must be a map with fields such as \"rules:\", and is text"},
		{"list", "- rules", "f:1:1: must be a map with fields such as \"rules:\", and is a list: write rules: in a line above it"},
		{"tab below text", "rules:\n  - name: r\n\t  key: k\n", "f:3:1: not YAML: a tab indents this line: indent with spaces"},
		{"open quote", "rules: []\nunmatched: 'deny\n", "f:2:12: not YAML: this quote is never closed: write another ' at the end of the text"},
		{"open at the end", "rules: [1, 2", "f:1:8: not YAML: the [ in line 1 is never closed: write ]"},
		{"missing comma between maps", "rules: [{name: r} {name: s}]\n", "f:1:19: not YAML: a comma is missing: write one before {"},
		{"missing comma at the end of a line", "rules: [{name: r\n  key: k}]\n", "f:2:3: not YAML: a comma is missing: write one before key"},
		{"below a deeper map that has ended", "rules:\n- name: r\n  when:\n      methods: GET\n- name: s\n     key: k\n",
			"f:6:6: not YAML: the indentation of this line is 5, which fits no line above it: write 2, as name in line 5 has"},
		{"no colon", "rules:\n- name\n  key: k\n", "f:2:3: not YAML: a colon is missing here: write a name, a colon and a value, such as unmatched: allow"},
		{"at sign", "rules: @r\n", `f:1:8: not YAML: text that begins with @ needs quotes: write "@r"`},
		{"text after quotes", "rules:\n- key: \"k\" x\n", `f:2:12: not YAML: text follows the quotes: put all of it in quotes, or remove it`},
		{"single quote closed by the next one", "- key: 'x'\n- key: 'its\n- key: 'k'\n",
			`f:2:8: not YAML: this quote is not closed in its line: write another ' at the end of the text`},
		{"escape before a brace", `rules: [{key: "ip:\{ip}"}]`, `f:1:19: not YAML: \ begins an escape in double quotes: write single quotes, or \\ for \`},
		{"star and text in braces", "rules: [{path: *.json}]\n", `f:1:16: not YAML: text that begins with * needs quotes: write "*.json"; aliases are not supported`},
		{"open bracket before a dash", "rules:\n- limits: [1/s, 2/m\n- name: r\n", "f:3:1: not YAML: the [ in line 2 is not closed before this line: write ]"},
		{"open bracket", "rules: [1, 2\nunmatched: deny\n", "f:2:1: not YAML: the [ in line 1 is not closed before this line: write ]"},
		{"crooked", "rules: []\n  unmatched: deny\n", "f:2:3: not YAML: the indentation of this line is 2, which fits no line above it: write 0, as rules in line 1 has"},
		{"two keys, bar", "rules:\n  - key: {ip}|{stage}\n", `f:2:10: not YAML: text with braces in it needs quotes: write "{ip}|{stage}"`},
		{"second document", "rules: []\n---\nrules: []\n", "f:2:1: a second document begins here: a file holds one"},
		{"after the end", "rules: []\n...\nunmatched: deny\n", "f:3:1: a second document begins here: a file holds one"},
		{"anchor and alias", "a: &x 1\nb: *x\n", "f:1:4: anchors are not supported: write the value out wherever it is used, or quote text that begins with &\n" +
			"f:2:4: aliases are not supported: write the value out, or quote text that begins with *"},
		{"merge", "rules: []\n<<: {unmatched: deny}\n", "f:2:1: merge keys are not supported: write the fields out"},
		{"tag", "rules: !!seq []\n", "f:1:8: tags are not supported: write the plain value, or quote text that begins with !"},
		{"tag at the end", "rules: []\n!deny", `f:2:1: not YAML: text that begins with ! needs quotes: write "!deny"`},
		{"tag without value", "!deny", "f:1:1: tags are not supported: write the plain value, or quote text that begins with !"},
		{"tag without a name", "a: ! 1\n", "f:1:4: tags are not supported: write the plain value, or quote text that begins with !"},
		{"tag of a list without a name", "rules: ! []\n", "f:1:8: tags are not supported: write the plain value, or quote text that begins with !"},
		{"directive", "%YAML 1.2\n---\nrules: []\n", "f:1:1: directives are not supported: remove it, or quote text that begins with %"},
		{"map as a name", "? {rules: 1}\n: []\n", "f:1:3: a name must be text: put it in quotes"},
		{"dash in brackets", "rules: [- name: r]\n", "f:1:9: not YAML: entries in brackets have commas between them, and no dash: remove it"},
		{"not UTF-8", "rules: []\n# caf\xe9\n", "f:2:6: is not UTF-8: save the file as UTF-8"},
		{"UTF-16", "\xff\xfer\x00", "f:1:1: is not UTF-8: save the file as UTF-8"},
		{"line end of YAML alone", "rules: []\n# é\u0085\n", `f:2:4: the control character '\u0085' is not allowed: remove it`},
		{"control character", "rules: []\n# é\x00\n", `f:2:4: the control character '\x00' is not allowed: remove it`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Decode("f", []byte(tt.document), &ruledoc.Document{})
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

package yamlfile

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// These bounds are far above any file that a person or a program has cause to
// write. The worst files within them take seconds and some gigabytes.
const (
	MaxDocument = 4 << 20 // bytes of a document
	maxMarks    = 1 << 20 // characters that have a meaning in YAML
	maxDepth    = 32      // maps and lists within each other
	maxEntries  = 1 << 14 // of one map or list
	maxForeign  = 1 << 18 // of one that another program's file has
	maxName     = 2048    // bytes of a name, which is a part of many paths
)

const marks = "[]{},:-?&*!%#'\""

// parse reads one document of plain YAML; nil is one without a value. Its errors
// name no file. entries bounds one map or list.
func parse(document []byte, entries int) (*yaml.Node, Errors) {
	text := strings.TrimPrefix(string(document), "\ufeff")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	if place, reason := checkText(text); reason != "" {
		return nil, Errors{{Line: place.Line, Column: place.Column, Reason: reason}}
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n" // so that the value of a literal at the end includes it
	}
	var documents []yaml.Node
	if err := yaml.Load([]byte(text), &documents, yaml.WithAllDocuments()); err != nil {
		return nil, Errors{syntaxError(err, text)}
	}
	if len(documents) == 0 {
		return nil, nil
	}
	if len(documents) > 1 {
		return nil, Errors{errorAt(&documents[1], "a second document begins here: a file holds one")}
	}
	root := documents[0].Content[0]
	return root, checkPlain(root, 0, entries)
}

// checkText refuses what the parser would report without its place, or take too
// much memory for.
func checkText(text string) (at Place, reason string) {
	at = Place{1, 1}
	if len(text) > MaxDocument {
		return at, fmt.Sprintf("the document has more than %d bytes, which is the most: split it", MaxDocument)
	}
	if strings.HasPrefix(text, "%") {
		return at, "directives are not supported: remove it, or quote text that begins with %"
	}
	marked := 0
	for i, c := range text {
		switch {
		case c == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd"):
			return at, "is not UTF-8: save the file as UTF-8"
		case unicode.In(c, unicode.Cc, unicode.Zl, unicode.Zp) && c != '\t' && c != '\n': // YAML takes some for line ends
			return at, fmt.Sprintf("the control character %q is not allowed: remove it", c)
		case strings.ContainsRune(marks, c):
			if marked++; marked > maxMarks {
				return at, "the document holds too many values: split it"
			}
		}
		if at.Column++; c == '\n' {
			at = Place{at.Line + 1, 1}
		}
	}
	return at, ""
}

const collection = yaml.MappingNode | yaml.SequenceNode

// checkPlain reports YAML that files do without. Every value stands where it is
// used, and no small file can expand into a large one.
func checkPlain(n *yaml.Node, depth, entries int) (bad Errors) {
	switch {
	case n.Kind == yaml.AliasNode:
		return Errors{errorAt(n, "aliases are not supported: write the value out, or quote text that begins with *")}
	case n.Anchor != "":
		bad = Errors{errorAt(n, "anchors are not supported: write the value out wherever it is used, or quote text that begins with &")}
	case n.Style&yaml.TaggedStyle != 0, n.Tag == "!":
		bad = Errors{errorAt(n, "tags are not supported: write the plain value, or quote text that begins with !")}
	case n.Tag == "!!merge":
		bad = Errors{errorAt(n, "merge keys are not supported: write the fields out")}
	case n.Kind&collection != 0 && depth == maxDepth:
		return Errors{errorAt(n, "more than %d maps and lists within each other", maxDepth)}
	case n.Kind == yaml.SequenceNode && len(n.Content) > entries || len(n.Content) > 2*entries:
		return Errors{errorAt(n, "more than %d entries in one map or list: split it; `slidegate overrides import` reads longer lists", entries)}
	}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && child.Kind&collection != 0 {
			bad = append(bad, errorAt(child, "a name must be text: put it in quotes"))
			continue
		}
		bad = append(bad, checkPlain(child, depth+1, entries)...)
	}
	return bad
}

func errorAt(n *yaml.Node, format string, args ...any) *Error {
	return &Error{Line: n.Line, Column: n.Column, Reason: fmt.Sprintf(format, args...)}
}

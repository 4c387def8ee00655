package chart

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"strings"
)

// Theme says where a drawing has its colours from.
type Theme int

// The themes.
const (
	Inline Theme = iota // from the style sheet of the page, which has Style
	Light               // its own, for a light background
	Dark                // its own, for a dark background
)

// Kind is what a shape stands for. It is the shape's class, and so its colour.
type Kind string

// The kinds.
const (
	Allowed Kind = "allowed"
	Denied  Kind = "denied"  // also the part above a limit
	Shadow  Kind = "shadow"  // would be denied: hatched
	Offered Kind = "offered" // what a client sent, behind what it was allowed
	Window  Kind = "window"  // the sum of a window, as a line
	Limit   Kind = "limit"   // a dashed line
)

//go:embed chart.css
var rules string

//go:embed base.css
var base string

// Hash returns the source of a content security policy that allows a style sheet
// or a script of this text alone.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// palette has each colour in light and in dark. The colours of shapes have a
// contrast of at least 3 to the background, and text of at least 4.5 (WCAG AA).
// What a client sent is drawn paler than its colour: it stands behind the rest.
var palette = []struct{ name, light, dark string }{
	{"--chart-back", "#ffffff", "#0d1117"},
	{"--chart-text", "#1f2328", "#e6edf3"},
	{"--chart-muted", "#59636e", "#9198a1"},
	{"--chart-grid", "#e4e7eb", "#262c36"},
	{"--chart-allowed", "#3b82c4", "#4f94d8"},
	{"--chart-denied", "#c8401a", "#f47b4d"},
	{"--chart-shadow", "#7c4dbd", "#b794f4"},
	{"--chart-offered", "#8c959f", "#6e7681"},
	{"--chart-window", "#0b4a8f", "#a5d0ff"},
	{"--chart-limit", "#1f2328", "#e6edf3"},
}

// Style is the style sheet of a page with inline drawings: the variables in
// light, in dark if the device prefers it, the rules of the drawings' classes, and
// what all pages share.
func Style() string {
	var light, dark strings.Builder
	for _, p := range palette {
		light.WriteString(p.name + ":" + p.light + ";")
		dark.WriteString(p.name + ":" + p.dark + ";")
	}
	return ":root{" + light.String() + "}\n@media screen and (prefers-color-scheme:dark){:root{" + dark.String() + "}}\n" + rules + base
}

// own returns the style sheet of a file. It has colours instead of variables,
// because many viewers of SVG do not know these.
func (t Theme) own() string {
	var colours []string
	for _, p := range palette {
		colour := p.light
		if t == Dark {
			colour = p.dark
		}
		colours = append(colours, "var("+p.name+")", colour)
	}
	return strings.NewReplacer(colours...).Replace(rules)
}

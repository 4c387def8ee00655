package main

import (
	_ "embed"
	"html"
	"regexp"
	"strings"
	"text/template"
)

// columns is the terminal's width in characters. Longer lines wrap.
const columns = 76

// Measures in pixels, and in seconds.
const (
	lineHeight            = 19
	perKey, perLine, rest = 0.025, 0.06, 0.9
)

//go:embed terminal.svg.tmpl
var page string

// pane is one terminal window: `make run` is in the first, the rest in another.
type pane struct {
	Name      string
	Y, Height int
	Lines     []line
}

// line is a row of text, which appears At seconds after the start. A typed one
// then takes Takes seconds, in steps of one key.
type line struct {
	Y         int
	At, Takes float64
	Prompt    string // "" for output
	Keys      int
	Text      string // with markup
}

var denials = regexp.MustCompile(`\b429\b|^denied .*`)

// terminal draws a transcript as an animation that runs once and ends with all
// of the text. Readers who prefer no motion get the end at once, as does the
// address with #still: not every browser tells pictures what a reader prefers.
func terminal(text string) (string, error) {
	first, second, _ := strings.Cut(strings.TrimRight(text, "\n"), "\n\n$ ")
	now := 0.6
	var panes []pane
	y := 0
	for _, p := range []struct{ name, text string }{{"terminal", first}, {"another terminal", "$ " + second}} {
		drawn := pane{Name: p.name, Y: y}
		drawn.write(p.text, &now)
		panes = append(panes, drawn)
		y += drawn.Height + 10
	}
	var out strings.Builder
	err := template.Must(template.New("").Parse(page)).Execute(&out, map[string]any{"Height": y - 9, "Panes": panes})
	return out.String(), err
}

// write adds the lines of a text, the first of them at *now.
func (p *pane) write(text string, now *float64) {
	y := 50
	for _, s := range strings.Split(text, "\n") {
		l := line{At: *now}
		if strings.HasPrefix(s, "$ ") || strings.HasPrefix(s, "> ") {
			l.Prompt, s = s[:1], s[2:]
			l.Keys = len(s)
			l.Takes = perKey * float64(l.Keys)
			if l.Prompt == "$" && len(p.Lines) > 0 {
				l.At += rest
			}
		}
		*now = l.At + l.Takes + perLine
		for r := []rune(s); ; r = r[columns:] {
			l.Y = y
			l.Text = denials.ReplaceAllString(html.EscapeString(string(r[:min(len(r), columns)])), `<tspan class="d">$0</tspan>`)
			if len(r) > 0 {
				p.Lines = append(p.Lines, l)
			}
			y += lineHeight
			if len(r) <= columns {
				break
			}
		}
	}
	*now += rest
	p.Height = y
}

package main

import (
	"bytes"
	"slices"
	"strings"
)

// mutant is one small change to one file: the bytes from start to end of src
// become text.
type mutant struct {
	File     string `json:"file"` // below the module's root
	Line     int    `json:"line"`
	Column   int    `json:"column"` // in bytes, from 1
	Function string `json:"function"`
	Operator string `json:"operator"`
	change

	number     int // in the batch, from 1; 0 if the mutant is not in it
	src        []byte
	start, end int
	text       string
}

// change shows a mutant: the lines that differ, without their indentation.
type change struct {
	Original string `json:"original"`
	Mutated  string `json:"mutated"`
}

// source returns the whole file with the change.
func (m *mutant) source() []byte {
	return slices.Concat(m.src[:m.start], []byte(m.text), m.src[m.end:])
}

// lines returns the change as whole lines.
func (m *mutant) lines() change {
	first, last := bytes.LastIndexByte(m.src[:m.start], '\n')+1, len(m.src)
	if n := bytes.IndexByte(m.src[m.end:], '\n'); n >= 0 {
		last = m.end + n
	}
	before, after := string(m.src[first:m.start]), string(m.src[m.end:last])
	return change{flush(string(m.src[first:last])), flush(before + m.text + after)}
}

// flush removes the indentation and the empty lines of a text.
func flush(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// diff formats a change as lines with - and +.
func (c change) diff() string {
	var b strings.Builder
	for line := range strings.Lines(c.Original) {
		b.WriteString("- " + strings.TrimSuffix(line, "\n") + "\n")
	}
	for line := range strings.Lines(c.Mutated) {
		b.WriteString("+ " + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}

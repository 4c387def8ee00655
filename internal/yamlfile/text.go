package yamlfile

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The YAML library takes time that grows with the square of some counts, and a
// stack that grows with others. The bounds here and in structure.go are far
// above any file that a person or a program has cause to write. They keep the
// worst file to seconds.
const (
	maxDocument = 4 << 20 // bytes
	maxMarks    = 1 << 20 // characters that have a meaning in YAML
	maxRun      = 64      // blank lines, or < signs, in a row
)

const marks = "[]{},:-?&*!%#'\""

var tooManyAngles = strings.Repeat("<", maxRun+1)

// readText checks what it can before the text is scanned, and ends every line,
// the last one too, with "\n": the library counts some of the other endings
// twice, and drops a tag at the very end of a text.
func readText(document []byte) (string, *Error) {
	if len(document) > maxDocument {
		return "", &Error{Line: 1, Column: 1, Reason: fmt.Sprintf("the document has %d bytes, and %d is the most: split it", len(document), maxDocument)}
	}
	text := strings.TrimPrefix(string(document), "\ufeff")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text) + "\n"
	number, blank, marked := 0, 0, 0
	for line := range strings.Lines(text) {
		number++
		blank++
		if strings.TrimSpace(line) != "" {
			blank = 0
		}
		for i := range len(line) {
			if strings.IndexByte(marks, line[i]) >= 0 {
				marked++
			}
		}
		column, reason := checkLine(line)
		switch {
		case blank > maxRun:
			column, reason = 1, fmt.Sprintf("more than %d blank lines in a row: remove some", maxRun)
		case marked > maxMarks:
			column, reason = 1, "the document holds too many values: split it"
		}
		if reason != "" {
			return "", &Error{Line: number, Column: column, Reason: reason}
		}
	}
	return text, nil
}

// checkLine returns what is wrong with a line and in which column; the reason is
// "" for nothing.
func checkLine(line string) (column int, reason string) {
	for i, c := range line {
		column++
		if c == utf8.RuneError && !strings.HasPrefix(line[i:], "\ufffd") {
			return column, "is not UTF-8: save the file as UTF-8"
		}
		if c < ' ' && c != '\t' && c != '\n' || c == 0x7f {
			return column, fmt.Sprintf("the control character %q is not allowed: remove it", c)
		}
	}
	if i := strings.Index(line, tooManyAngles); i >= 0 {
		return utf8.RuneCountInString(line[:i]) + 1, fmt.Sprintf("more than %d < in a row: remove some", maxRun)
	}
	return 0, ""
}

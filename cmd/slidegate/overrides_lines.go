package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/slidegate/slidegate/internal/imports"
)

// errGrantsAlone is yielded for a line that holds nothing to import.
var errGrantsAlone = errors.New("the line holds grants alone")

// longestLine bounds a line of overrides, in bytes.
const longestLine = 1 << 20

// importFormatOf guesses a format by a file's name.
func importFormatOf(path string) string {
	if strings.HasSuffix(path, ".jsonl") {
		return "jsonl"
	}
	return "plain"
}

// readOverrideLines reads an object on each line, as overrides list --json prints them: key and document, which is text or
// an object. Other fields are passed over.
func readOverrideLines(path string, r io.Reader) iter.Seq2[imports.Override, error] {
	return func(yield func(imports.Override, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, longestLine)
		number := 0
		for lines.Scan() {
			number++
			if strings.TrimSpace(lines.Text()) == "" {
				continue
			}
			o, err := parseOverrideLine(lines.Bytes())
			if err != nil {
				err = fmt.Errorf("%s:%d: %w", path, number, err)
			}
			if !yield(o, err) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(imports.Override{}, fmt.Errorf("%s:%d: %w", path, number+1, err))
		}
	}
}

func parseOverrideLine(line []byte) (o imports.Override, err error) {
	var fields struct {
		Key      string
		Document json.RawMessage
		Grants   []json.RawMessage
	}
	switch err := json.Unmarshal(line, &fields); {
	case err != nil:
		return o, fmt.Errorf("want a JSON object with key and document: %w", err)
	case fields.Key == "":
		return o, errors.New("key is missing")
	case len(fields.Document) == 0 && len(fields.Grants) > 0:
		return o, errGrantsAlone
	case len(fields.Document) == 0:
		return o, fmt.Errorf("key %s: document is missing", plainText(fields.Key))
	}
	o.Key, o.Document = fields.Key, string(fields.Document)
	if fields.Document[0] == '"' {
		err = json.Unmarshal(fields.Document, &o.Document)
	}
	return o, err
}

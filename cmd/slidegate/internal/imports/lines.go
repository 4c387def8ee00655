package imports

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
)

// OverrideLines returns the overrides as overrides import reads them.
func (r *Result) OverrideLines() ([]byte, error) {
	var lines bytes.Buffer
	e := json.NewEncoder(&lines)
	e.SetEscapeHTML(false)
	for _, o := range r.Overrides {
		if err := e.Encode(o); err != nil {
			return nil, err
		}
	}
	return lines.Bytes(), nil
}

// maxLine bounds a line of overrides, in bytes.
const maxLine = 1 << 20

// OverrideLines reads an object on each line, as overrides list --json prints
// them: key and document, which is text or an object. It counts the grants that
// it skips. Other fields are ignored: the table writes them again.
func OverrideLines(path string, r io.Reader, grants *int) iter.Seq2[Override, error] {
	return func(yield func(Override, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxLine)
		number := 1
		for ; lines.Scan(); number++ {
			if strings.TrimSpace(lines.Text()) == "" {
				continue
			}
			o, granted, err := parseOverrideLine(lines.Bytes())
			if err != nil {
				err = fmt.Errorf("%s:%d: %w", path, number, err)
			}
			*grants += granted
			if err == nil && len(o.Document) == 0 && granted > 0 {
				continue // a line of grants alone
			}
			if !yield(o, err) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Override{}, fmt.Errorf("%s:%d: %w", path, number, err))
		}
	}
}

// parseOverrideLine returns the override of a line, without a document if the
// line has grants alone.
func parseOverrideLine(line []byte) (o Override, grants int, err error) {
	var fields struct {
		Key      string
		Document json.RawMessage
		Grants   []json.RawMessage
	}
	switch err := json.Unmarshal(line, &fields); {
	case err != nil:
		return o, 0, fmt.Errorf("want a JSON object with key and document: %w", err)
	case fields.Key == "":
		return o, 0, errors.New("key is missing")
	case len(fields.Document) == 0 && len(fields.Grants) == 0:
		return o, 0, fmt.Errorf("key %s: document is missing", text.Printable(fields.Key))
	}
	if bytes.HasPrefix(fields.Document, []byte(`"`)) {
		var document string
		err = json.Unmarshal(fields.Document, &document)
		fields.Document = json.RawMessage(document)
	}
	return Override{fields.Key, fields.Document}, len(fields.Grants), err
}

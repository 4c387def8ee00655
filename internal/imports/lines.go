package imports

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/slidegate/slidegate/internal/text"
)

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
			if err == nil && o.Document == "" && granted > 0 {
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
	o.Key, o.Document = fields.Key, string(fields.Document)
	if o.Document != "" && o.Document[0] == '"' {
		err = json.Unmarshal(fields.Document, &o.Document)
	}
	return o, len(fields.Grants), err
}

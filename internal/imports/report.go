package imports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/yamlfile"
)

// Report is a rules file made of another limiter's configuration.
type Report struct {
	Text      string            `json:"text"` // the file, with comments
	Document  *ruledoc.Document `json:"document"`
	Lost      []Lost            `json:"lost"`
	Overrides []KeyOverride     `json:"overrides"`
}

// KeyOverride is an override as overrides import reads it.
type KeyOverride struct {
	Key      string          `json:"key"`
	Document json.RawMessage `json:"document"`
}

// Report describes the result of an import.
func (result *Result) Report() (*Report, error) {
	rules := &ruledoc.Document{}
	if _, err := yamlfile.Decode("the rules made of it", result.YAML, rules); err != nil {
		return nil, err
	}
	r := &Report{string(result.YAML), rules, append([]Lost{}, result.Lost...), []KeyOverride{}}
	for _, o := range result.Overrides {
		r.Overrides = append(r.Overrides, KeyOverride{o.Key, json.RawMessage(o.Document)})
	}
	return r, nil
}

// OverrideLines returns the overrides as overrides import reads them.
func (r *Report) OverrideLines() ([]byte, error) {
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

// maxFile bounds a file to import, in bytes.
const maxFile = 64 << 20

// ReadFiles reads files of at most 64 MiB each.
func ReadFiles(paths ...string) (files []File, err error) {
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
		file.Close()
		if err == nil && len(content) > maxFile {
			err = fmt.Errorf("%s: holds more than %d MB", path, maxFile>>20)
		}
		if err != nil {
			return nil, err
		}
		files = append(files, File{Name: path, Content: content})
	}
	return files, nil
}

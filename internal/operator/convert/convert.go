// Package convert reads the files of other limiters, and the lines that overrides
// list prints.
package convert

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/slidegate/slidegate/internal/imports"
	"github.com/slidegate/slidegate/internal/imports/envoy"
	"github.com/slidegate/slidegate/internal/imports/usageplans"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/yamlfile"
)

// Report is a rules file made of another limiter's configuration.
type Report struct {
	Text      string            `json:"text"` // the file, with comments
	Document  *ruledoc.Document `json:"document"`
	Lost      []imports.Lost    `json:"lost"`
	Overrides []Override        `json:"overrides"`
}

// Override is an override as overrides import reads it.
type Override struct {
	Key      string          `json:"key"`
	Document json.RawMessage `json:"document"`
}

// PlanFile names the file with the API keys of a usage plan.
type PlanFile struct{ Plan, File string }

// Envoy makes rules of descriptor files of envoyproxy/ratelimit.
func Envoy(sources envoy.Sources, paths []string) (*Report, error) {
	files, err := readFiles(paths...)
	if err != nil {
		return nil, err
	}
	return report(envoy.Import(sources, files...))
}

// UsagePlans makes rules and overrides of plan of usage plans.
func UsagePlans(path string, plans []PlanFile) (*Report, error) {
	paths := []string{path}
	for _, p := range plans {
		paths = append(paths, p.File)
	}
	files, err := readFiles(paths...)
	if err != nil {
		return nil, err
	}
	keys := make([]usageplans.Keys, len(plans))
	for i, p := range plans {
		keys[i] = usageplans.Keys{Plan: p.Plan, File: files[i+1]}
	}
	return report(usageplans.Import(files[0], keys...))
}

func report(document *imports.Result, err error) (*Report, error) {
	if err != nil {
		return nil, err
	}
	rules := &ruledoc.Document{}
	if _, err := yamlfile.Decode("the rules made of it", document.YAML, rules); err != nil {
		return nil, err
	}
	r := &Report{string(document.YAML), rules, append([]imports.Lost{}, document.Lost...), []Override{}}
	for _, o := range document.Overrides {
		r.Overrides = append(r.Overrides, Override{o.Key, json.RawMessage(o.Document)})
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

// maxImport bounds a file to import, in bytes.
const maxImport = 64 << 20

func readFiles(paths ...string) (files []imports.File, err error) {
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(io.LimitReader(file, maxImport+1))
		file.Close()
		if err == nil && len(content) > maxImport {
			err = fmt.Errorf("%s: holds more than %d MB", path, maxImport>>20)
		}
		if err != nil {
			return nil, err
		}
		files = append(files, imports.File{Name: path, Content: content})
	}
	return files, nil
}

// maxLine bounds a line of overrides, in bytes.
const maxLine = 1 << 20

// Lines reads an object on each line, as overrides list --json prints
// them: key and document, which is text or an object. It counts the grants that
// it skips. Other fields are ignored: the table writes them again.
func Lines(path string, r io.Reader, grants *int) iter.Seq2[imports.Override, error] {
	return func(yield func(imports.Override, error) bool) {
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
			yield(imports.Override{}, fmt.Errorf("%s:%d: %w", path, number, err))
		}
	}
}

// parseOverrideLine returns the override of a line, without a document if the
// line has grants alone.
func parseOverrideLine(line []byte) (o imports.Override, grants int, err error) {
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

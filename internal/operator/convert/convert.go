// Package convert reads the files of other limiters, and the lines that overrides
// list prints.
package convert

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/slidegate/slidegate/internal/imports"
	"github.com/slidegate/slidegate/internal/imports/envoy"
	"github.com/slidegate/slidegate/internal/imports/usageplans"
)

// Report is a rules file made of another limiter's configuration.
type Report struct {
	Document  string         `json:"document"`
	Lost      []imports.Lost `json:"lost"`
	Overrides []Override     `json:"overrides"`
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
	var keys []usageplans.Keys
	for _, p := range plans {
		files, err := readFiles(p.File)
		if err != nil {
			return nil, err
		}
		keys = append(keys, usageplans.Keys{Plan: p.Plan, File: files[0]})
	}
	files, err := readFiles(path)
	if err != nil {
		return nil, err
	}
	return report(usageplans.Import(files[0], keys...))
}

func report(document *imports.Document, err error) (*Report, error) {
	if err != nil {
		return nil, err
	}
	r := &Report{string(document.YAML), append([]imports.Lost{}, document.Lost...), []Override{}}
	for _, o := range document.Overrides {
		r.Overrides = append(r.Overrides, Override{o.Key, json.RawMessage(o.Document)})
	}
	return r, nil
}

// OverrideLines returns the overrides as overrides import reads them.
func (r *Report) OverrideLines() ([]byte, error) {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	for _, o := range r.Overrides {
		if err := e.Encode(o); err != nil {
			return nil, err
		}
	}
	return []byte(text.String()), nil
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

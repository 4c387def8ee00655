// Package plain imports overrides from plain JSON.
package plain

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate/internal/imports"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/yamlfile"
)

// Import reads overrides of a rule from JSON of the form
//
//	{"user:241531": {"time_window_sec": 1, "capacity": 5, "granularity_sec": 1}}
//
// It yields them one by one in the order of the file and keeps only 16 bytes of
// each key's hash, to find keys that come twice. An override states only a
// capacity if its window and granularity are those of the rule's limit.
//
// limits are the rule's own. The form has one limit, so Import refuses a rule
// with several: the override would drop the others.
//
// Errors are *yamlfile.Error with the line and the key. An error in one entry
// does not end the reading; text that is not JSON does. To take all entries or
// none, read the file twice, the first time only for errors.
func Import(file string, r io.Reader, rule string, limits []limit.Limit) iter.Seq2[imports.Override, error] {
	return func(yield func(imports.Override, error) bool) {
		p := &reader{file: file, lineOf: map[[16]byte]int{}}
		p.json = json.NewDecoder(io.TeeReader(r, &p.lines))
		p.json.UseNumber()
		if len(limits) != 1 {
			yield(imports.Override{}, p.problem(fmt.Sprintf("rule %s has %d limits, and this form has one: write overrides in the form of the rules", rule, len(limits))))
			return
		}
		p.open()
		for p.err == nil && p.json.More() {
			key, l, err := p.entry()
			o := imports.Override{}
			if err == nil {
				o = imports.NewOverride(key, l.override(&limits[0]))
			}
			if !yield(o, err) || p.err != nil {
				return
			}
		}
		if p.close(); p.err != nil {
			yield(imports.Override{}, p.err)
		}
	}
}

// reader is the state of one import.
type reader struct {
	file   string
	lines  lines
	json   *json.Decoder
	path   string           // of the value that it reads
	lineOf map[[16]byte]int // by the hash of a key
	err    error            // the text is not JSON, or cannot be read
}

// problem returns an error at the last token that was read, nil for no reason.
func (p *reader) problem(reason string) error {
	if reason == "" {
		return nil
	}
	line, column := p.lines.locate(p.json.InputOffset())
	return &yamlfile.Error{File: p.file, Line: line, Column: column, Path: p.path, Reason: reason}
}

// token returns the next token. If there is none, it sets p.err for good.
func (p *reader) token() json.Token {
	if p.err != nil {
		return nil
	}
	t, err := p.json.Token()
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		p.err = p.problem("the file ends before the JSON does")
	case errors.As(err, &syntax):
		p.err = p.problem("not JSON: " + err.Error())
	case err != nil:
		p.err = fmt.Errorf("%s: %w", p.file, err)
	}
	return t
}

func (p *reader) open() {
	if t := p.token(); p.err == nil && t != json.Delim('{') {
		p.err = p.problem("must be an object of keys, such as {\"user:1\": {...}}")
	}
}

func (p *reader) close() {
	p.path = ""
	if p.token(); p.err != nil {
		return
	}
	if _, err := p.json.Token(); !errors.Is(err, io.EOF) {
		p.err = p.problem("nothing may follow the object")
	}
}

// entry reads a key and its limit to the end, and returns the first error.
func (p *reader) entry() (key string, l *entryLimit, err error) {
	p.path = ""
	key, _ = p.token().(string)
	p.path = strconv.Quote(imports.Short(key))
	wrongKey := p.checkKey(key)
	l, err = p.limit()
	return key, l, cmp.Or(p.err, wrongKey, err)
}

func (p *reader) checkKey(key string) error {
	if p.err != nil {
		return p.err
	}
	sum := sha256.Sum256([]byte(key))
	first, twice := p.lineOf[[16]byte(sum[:])]
	switch {
	case key == "":
		return p.problem("is not a key")
	case strings.ContainsRune(key, '\uFFFD'):
		return p.problem("is not UTF-8, or half a surrogate pair")
	case twice:
		return p.problem(fmt.Sprintf("is there twice, first in line %d: remove one of them", first))
	}
	p.lineOf[[16]byte(sum[:])], _ = p.lines.locate(p.json.InputOffset())
	return nil
}

// limit reads the value of a key to its end, and returns the first error.
func (p *reader) limit() (l *entryLimit, wrong error) {
	if t := p.token(); t != json.Delim('{') {
		return nil, p.finish(t, "must be an object such as {\"time_window_sec\": 1, \"capacity\": 5, \"granularity_sec\": 1}")
	}
	l = &entryLimit{stated: map[string]bool{}}
	path := p.path
	for p.err == nil && p.json.More() {
		name, _ := p.token().(string)
		p.path = path + "." + imports.Short(name)
		t := p.token()
		wrong = cmp.Or(wrong, p.finish(t, l.set(name, t)))
	}
	p.path = path
	p.token()
	return l, cmp.Or(wrong, p.problem(l.check()))
}

// finish reads the rest of a value after its first token, and returns the error
// with this reason at that token.
func (p *reader) finish(t json.Token, reason string) error {
	wrong := p.problem(reason)
	for depth := 0; p.err == nil; t = p.token() {
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			break
		}
	}
	return wrong
}

// lines turns offsets of a text into lines and columns. The text is written to
// it; it keeps only the text after the last offset, so its size does not grow
// with the file.
type lines struct {
	bytes.Buffer
	offset int64 // of the first byte in the buffer
	line   int   // line feeds before it
	start  int64 // offset of the line's first byte
}

// locate returns the line and column, from 1, of the byte before an offset.
// Offsets must not decrease from call to call.
func (l *lines) locate(offset int64) (line, column int) {
	for _, c := range l.Next(int(max(0, offset-1-l.offset))) {
		l.offset++
		if c == '\n' {
			l.line++
			l.start = l.offset
		}
	}
	return l.line + 1, int(max(1, offset-l.start))
}

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
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/yamlfile"
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
		if t := p.token(); p.err == nil && t != json.Delim('{') {
			p.err = p.problem("must be an object of keys, such as {\"user:1\": {...}}")
		}
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

// entryLimit is the limit of an entry.
type entryLimit struct {
	capacity            int64
	window, granularity time.Duration
	stated              map[string]bool // by the names of fields
}

// set sets the field with this name, or returns what is wrong with it.
func (l *entryLimit) set(name string, value json.Token) (problem string) {
	twice := l.stated[name]
	l.stated[name] = true
	number, isNumber := value.(json.Number)
	switch {
	case twice:
		return "is there twice: remove one of them"
	case name != "time_window_sec" && name != "capacity" && name != "granularity_sec":
		return "unknown field: there are time_window_sec, capacity and granularity_sec"
	case !isNumber:
		return "must be a number"
	case name == "capacity":
		l.capacity, problem = parseCapacity(number)
	case name == "time_window_sec":
		l.window, problem = parseSeconds(number)
	default:
		l.granularity, problem = parseSeconds(number)
	}
	return problem
}

func parseCapacity(n json.Number) (units int64, problem string) {
	units, err := strconv.ParseInt(n.String(), 10, 64)
	if err != nil || units < 1 || units > limit.MaxCapacity {
		return 0, fmt.Sprintf("%s is not a capacity: write a whole number from 1 to %d", imports.Short(n.String()), limit.MaxCapacity)
	}
	return units, ""
}

func parseSeconds(n json.Number) (d time.Duration, problem string) {
	d, err := time.ParseDuration(n.String() + "s")
	if err != nil || d < ruledoc.MinWindow || d > ruledoc.MaxWindow || d%time.Millisecond != 0 {
		return 0, fmt.Sprintf("%s is not a number of seconds from %g to %d: write plain digits, with at most three decimals",
			imports.Short(n.String()), ruledoc.MinWindow.Seconds(), ruledoc.MaxWindow/time.Second)
	}
	return d, ""
}

// check returns what is wrong with the limit as a whole.
func (l *entryLimit) check() (problem string) {
	for _, name := range []string{"time_window_sec", "capacity", "granularity_sec"} {
		if !l.stated[name] {
			return name + " is missing"
		}
	}
	if l.granularity == 0 {
		return "" // the field has an error of its own
	}
	switch slots := l.window / l.granularity; {
	case l.window%l.granularity != 0:
		return "time_window_sec is not a whole multiple of granularity_sec"
	case slots > limit.MaxSlots:
		return fmt.Sprintf("time_window_sec is %d times granularity_sec, and %d is the most", slots, limit.MaxSlots)
	}
	return ""
}

// override returns the override that turns a rule's limit into this one.
func (l *entryLimit) override(own *limit.Limit) ruledoc.Override {
	if own.Algorithm == limit.SlidingWindow && own.Window == l.window && own.Granularity == l.granularity {
		return ruledoc.Override{Capacity: ruledoc.Capacities{"": l.capacity}}
	}
	return ruledoc.Override{Limits: []ruledoc.Limit{{
		Name:     own.Name, // counters carry it
		Capacity: l.capacity, Window: ruledoc.FormatDuration(l.window), Granularity: ruledoc.FormatDuration(l.granularity),
	}}}
}

package imports

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/yamlfile"
)

// Plain reads overrides of a rule from JSON of the form
//
//	{"user:241531": {"time_window_sec": 1, "capacity": 5, "granularity_sec": 1}}
//
// one by one, in the order of the file: it holds none of them, but for 16 bytes of each key's hash, to tell a key that comes
// twice. An override says no more than the capacity where window and granularity are those of the rule's limit.
//
// limits are the rule's own. The form has one limit, so a rule with several is an error: the override would drop the others.
//
// Every error is a *yamlfile.Error with the line and the key. What is wrong with one entry does not end the reading, and text
// that is no JSON does. To take all entries or none, read the file twice, and once to see that there are no errors.
func Plain(file string, r io.Reader, rule string, limits []limit.Limit) iter.Seq2[Override, error] {
	return func(yield func(Override, error) bool) {
		p := newPlain(file, r, rule)
		if len(limits) != 1 {
			yield(Override{}, p.problem("", "rule %s has %d limits, and this form speaks of one: write overrides in the form of the rules", rule, len(limits)))
			return
		}
		if err := p.open(); err != nil {
			yield(Override{}, err)
			return
		}
		for p.json.More() {
			o, err := p.entry(&limits[0])
			if !yield(o, err) || p.ended {
				return
			}
		}
		if err := p.close(); err != nil {
			yield(Override{}, err)
		}
	}
}

// plainReader is a reading on its way.
type plainReader struct {
	file, rule string
	lines      *lines
	json       *json.Decoder
	seen       map[[16]byte]int // the line of each key, by its hash
	ended      bool             // by text that is no JSON
}

func newPlain(file string, r io.Reader, rule string) *plainReader {
	p := &plainReader{file: file, rule: rule, lines: &lines{reader: r}, seen: map[[16]byte]int{}}
	p.json = json.NewDecoder(p.lines)
	p.json.UseNumber()
	return p
}

// problem returns an error at the token that was read last.
func (p *plainReader) problem(path, format string, args ...any) error {
	line, column := p.lines.at(p.json.InputOffset())
	return &yamlfile.Error{File: p.file, Line: line, Column: column, Path: path, Reason: fmt.Sprintf(format, args...)}
}

// token returns the next token. An error of it is the end.
func (p *plainReader) token(path string) (json.Token, error) {
	t, err := p.json.Token()
	if err == nil {
		return t, nil
	}
	p.ended = true
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, p.problem(path, "the file ends before the JSON does")
	case errors.As(err, &syntax):
		return nil, p.problem(path, "not JSON: %v", err)
	}
	return nil, fmt.Errorf("%s: %w", p.file, err)
}

func (p *plainReader) open() error {
	t, err := p.token("")
	if err == nil && t != json.Delim('{') {
		return p.problem("", "must be an object of keys, such as {\"user:1\": {...}}")
	}
	return err
}

func (p *plainReader) close() error {
	if _, err := p.token(""); err != nil {
		return err
	}
	if _, err := p.json.Token(); !errors.Is(err, io.EOF) {
		return p.problem("", "nothing may follow the object")
	}
	return nil
}

// entry reads a key and what is said of it.
func (p *plainReader) entry(own *limit.Limit) (Override, error) {
	t, err := p.token("")
	if err != nil {
		return Override{}, err
	}
	key, _ := t.(string)
	bad := p.checkKey(key)
	fields, err := p.fields(strconv.Quote(short(key)))
	if bad == nil {
		bad = err
	}
	if bad != nil {
		return Override{}, bad
	}
	return Override{p.rule, key, fields.override(own)}, nil
}

func (p *plainReader) checkKey(key string) error {
	line, _ := p.lines.at(p.json.InputOffset())
	sum := sha256.Sum256([]byte(key))
	first, twice := p.seen[[16]byte(sum[:])]
	path := strconv.Quote(short(key))
	switch {
	case key == "":
		return p.problem(path, "is no key")
	case strings.ContainsRune(key, '\uFFFD'):
		return p.problem(path, "is not UTF-8, or a surrogate stands alone")
	case twice:
		return p.problem(path, "is there twice, first in line %d: remove one of them", first)
	}
	p.seen[[16]byte(sum[:])] = line
	return nil
}

// plainLimit is what an entry says.
type plainLimit struct {
	capacity            int64
	window, granularity time.Duration
}

// fields reads an entry to its end. The error is of the first thing that is wrong in it.
func (p *plainReader) fields(path string) (l plainLimit, bad error) {
	t, err := p.token(path)
	if err != nil {
		return l, err
	}
	if t != json.Delim('{') {
		return l, p.skip(t, path, p.problem(path, "must be an object such as {\"time_window_sec\": 1, \"capacity\": 5, \"granularity_sec\": 1}"))
	}
	said := map[string]bool{}
	for p.json.More() {
		name, err := p.token(path)
		if err != nil {
			return l, err
		}
		field, _ := name.(string)
		err = p.field(&l, field, said, path+"."+short(field))
		if p.ended {
			return l, err
		}
		if bad == nil {
			bad = err
		}
	}
	if _, err := p.token(path); err != nil {
		return l, err
	}
	if bad == nil {
		bad = p.check(&l, said, path)
	}
	return l, bad
}

func (p *plainReader) field(l *plainLimit, name string, said map[string]bool, path string) error {
	var bad error
	if said[name] {
		bad = p.problem(path, "is there twice: remove one of them")
	}
	said[name] = true
	t, err := p.token(path)
	if err != nil {
		return err
	}
	number, isNumber := t.(json.Number)
	switch {
	case bad != nil:
	case name != "time_window_sec" && name != "capacity" && name != "granularity_sec":
		bad = p.problem(path, "unknown field: there are time_window_sec, capacity and granularity_sec")
	case !isNumber:
		bad = p.problem(path, "must be a number")
	case name == "capacity":
		l.capacity, bad = p.whole(number, path)
	case name == "time_window_sec":
		l.window, bad = p.seconds(number, path)
	default:
		l.granularity, bad = p.seconds(number, path)
	}
	return p.skip(t, path, bad)
}

// skip reads a value to its end, of which the first token is read, and returns what is wrong with it.
func (p *plainReader) skip(t json.Token, path string, bad error) error {
	for depth := 0; ; {
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return bad
		}
		var err error
		if t, err = p.token(path); err != nil {
			return err
		}
	}
}

func (p *plainReader) whole(n json.Number, path string) (int64, error) {
	units, err := strconv.ParseInt(n.String(), 10, 64)
	if err != nil || units < 1 || units > limit.MaxCapacity {
		return 0, p.problem(path, "%s is no capacity: write a whole number from 1 to %d", short(n.String()), limit.MaxCapacity)
	}
	return units, nil
}

// seconds reads a length of time. Rules take tenths of a second, and write no exponents.
func (p *plainReader) seconds(n json.Number, path string) (time.Duration, error) {
	const least = 100 * time.Millisecond
	d, err := time.ParseDuration(n.String() + "s")
	if err != nil || d < least || d > longestWindow || d%time.Millisecond != 0 {
		return 0, p.problem(path, "%s is no number of seconds from %g to %d: write plain digits, in milliseconds at the most exact",
			short(n.String()), least.Seconds(), longestWindow/time.Second)
	}
	return d, nil
}

// check judges the fields together.
func (p *plainReader) check(l *plainLimit, said map[string]bool, path string) error {
	for _, name := range []string{"time_window_sec", "capacity", "granularity_sec"} {
		if !said[name] {
			return p.problem(path, "%s is missing", name)
		}
	}
	switch slots := l.window / l.granularity; {
	case l.window%l.granularity != 0:
		return p.problem(path, "time_window_sec is no whole multiple of granularity_sec")
	case slots > limit.MaxSlots:
		return p.problem(path, "time_window_sec is %d times granularity_sec, and %d is the most", slots, limit.MaxSlots)
	}
	return nil
}

// override returns the override that makes of a rule's own limit this one.
func (l plainLimit) override(own *limit.Limit) string {
	if own.Algorithm == limit.SlidingWindow && own.Window == l.window && own.Granularity == l.granularity {
		return fmt.Sprintf(`{"capacity":%d}`, l.capacity)
	}
	name := ""
	if own.Name != "" { // counters carry it
		name = fmt.Sprintf(`"name":%q,`, own.Name)
	}
	return fmt.Sprintf(`{"limits":[{%s"capacity":%d,"window":"%s","granularity":"%s"}]}`, name, l.capacity, length(l.window), length(l.granularity))
}

// length writes a length of time in seconds, or in milliseconds where they are not whole.
func length(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return fmt.Sprintf("%dms", d/time.Millisecond)
}

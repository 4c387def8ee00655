package logs

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/request"
)

// table says what rules see of a format whose lines have fields with names.
type table struct {
	marks  []string    // names that occur in this format alone
	shared []string    // names that JSON Lines may have too; a line with time is one of those
	times  []timeField // the first that a line has counts
	path   []string    // of the request, with the query: the first that a line has counts
	fields []field
	finish func(l namedFields, r *record) error // is called after all fields; nil for none
}

// namedFields are the fields of a line.
type namedFields interface {
	// value returns "" for a missing field.
	value(name string) string
	// names returns the fields that have a value, in any order.
	names() []string
}

// timeField reads the time of a request.
type timeField struct {
	name string
	read func(l namedFields, value string) (time.Time, error)
}

// field sets what a record holds. The first name with a value counts.
type field struct {
	names []string
	set   func(r *record, value string) error
}

// matches reports whether a line is of the format.
func (t *table) matches(l namedFields) bool {
	return first(l, t.marks...) != "" || first(l, "time") == "" && first(l, t.shared...) != ""
}

// read reads a line. A line without a path has no request: programs log their
// messages so, Envoy and Traefik plain TCP connections, and Docker the lines of
// others.
func (t *table) read(l namedFields, r *record) (bool, error) {
	r.Target = first(l, t.path...)
	for i := range t.fields {
		if value := first(l, t.fields[i].names...); value != "" {
			if err := t.fields[i].set(r, value); err != nil {
				return false, err
			}
		}
	}
	if t.finish != nil {
		if err := t.finish(l, r); err != nil {
			return false, err
		}
	}
	if r.routeForPath(); r.Target == "" {
		return false, missing(errNoPath, t.path, l)
	}
	if err := t.readTime(l, r); err != nil {
		return false, err
	}
	return true, r.check()
}

// routeForPath takes the gateway's route for a path that the line lacks:
// "/items/{id}", "GET /items/{id}" of an HTTP API, or the connection of a
// WebSocket API, which its authorizer decides as GET /.
func (r *record) routeForPath() {
	if r.Target != "" {
		return
	}
	if r.Route == routeConnect {
		r.Method, r.Target = "GET", "/"
	} else if _, path, ok := strings.Cut(" "+r.Route, " /"); ok {
		r.Target = "/" + path
	}
}

// parseJSON reads a line that is a JSON object.
func (t *table) parseJSON(line string, r *record) (bool, error) {
	o, err := parseObject(line)
	if err != nil {
		return false, err
	}
	for i := range t.fields {
		for _, name := range t.fields[i].names {
			if raw := o[name]; len(raw) > 0 && strings.IndexByte("{[tf", raw[0]) >= 0 {
				return false, fmt.Errorf("field %s is of the wrong type: want a text", name)
			}
		}
	}
	return t.read(o, r)
}

func (t *table) readTime(l namedFields, r *record) (err error) {
	for _, f := range t.times {
		if value := first(l, f.name); value != "" {
			if r.time, err = f.read(l, value); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			return nil
		}
	}
	return missing(errNoTime, t.timeNames(), l)
}

func (t *table) timeNames() (names []string) {
	for _, f := range t.times {
		names = append(names, f.name)
	}
	return names
}

// first returns the first value that is not absent.
func first(l namedFields, names ...string) string {
	for _, name := range names {
		if value := l.value(name); value != "" && value != absent {
			return value
		}
	}
	return ""
}

// missing says where something was looked for, what the line has instead, and
// whether that holds the line of a server.
func missing(what error, looked []string, l namedFields) error {
	const most = 12
	has := l.names()
	slices.Sort(has)
	for i, name := range has {
		if quoted := quote(name); len(quoted) != len(name)+2 || strings.ContainsAny(name, ", ") {
			has[i] = quoted
		}
	}
	list := strings.Join(has[:min(len(has), most)], ", ")
	switch {
	case len(has) == 0:
		list = "no field with a value"
	case len(has) > most:
		list += fmt.Sprintf(" and %d more", len(has)-most)
	}
	o, _ := l.(jsonObject)
	for _, name := range [...]string{"log", "message", "msg", "MESSAGE", "textPayload", "LogEntry", "short_message", "body"} { // log is Docker's, whose first lines may be anything
		if strings.HasPrefix(string(o[name]), `"`) && (name == "log" || recognize(o.value(name)) != "") {
			list += fmt.Sprintf("; to read the lines in %[1]s, write them to a file by jq -r .%[1]s", name)
		}
	}
	return fmt.Errorf("%w: looked for %s; the line has %s", what, strings.Join(looked, ", "), list)
}

// set returns a function that sets a text of a record.
func set(field func(r *record) *string) func(*record, string) error {
	return func(r *record, value string) error {
		*field(r) = value
		return nil
	}
}

var (
	setMethod = set(func(r *record) *string { return &r.Method })
	setRoute  = set(func(r *record) *string { return &r.Route })
	setAPIKey = set(func(r *record) *string { return &r.APIKey })
	setStage  = set(func(r *record) *string { return &r.Stage })
	setIP     = set(func(r *record) *string { return &r.IP })
)

func setStatus(r *record, value string) error {
	r.Status = statusOf(value)
	return nil
}

// setHeader adds a value of a header.
func setHeader(name string) func(*record, string) error {
	return func(r *record, value string) error {
		r.addHeader(name, value)
		return nil
	}
}

// removeHeader removes a header.
func (r *record) removeHeader(name string) {
	r.headers = slices.DeleteFunc(r.headers, func(h header) bool { return strings.EqualFold(h.name, name) })
}

// sameAddress compares addresses, however they are written.
func sameAddress(a, b string) bool {
	addr := request.ParseAddr(a)
	return addr.IsValid() && addr == request.ParseAddr(b)
}

// anyTime reads what parseTime reads.
func anyTime(_ namedFields, value string) (time.Time, error) { return parseTime(value) }

// commonTime reads a time of the common log format.
func commonTime(_ namedFields, value string) (time.Time, error) { return parseCLFTime(value) }

// milliseconds reads Unix milliseconds.
func milliseconds(_ namedFields, value string) (time.Time, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("time %s is not Unix milliseconds, such as 1431857103250", quote(value))
	}
	t := time.UnixMilli(n)
	return t, checkTime(t)
}

// row is a line with a value for each of the names.
type row struct{ fields, values []string }

func (l *row) value(name string) string {
	if i := slices.Index(l.fields, name); i >= 0 {
		return l.values[i]
	}
	return ""
}

func (l *row) names() (names []string) {
	for i, name := range l.fields {
		if value := l.values[i]; value != "" && value != absent {
			names = append(names, name)
		}
	}
	return names
}

// jsonObject has the fields of a line that is a JSON object.
type jsonObject map[string]json.RawMessage

// parseObject reads a line. The fields of an object request, which Caddy's lines
// have, are fields of the line too, as "request.name".
func parseObject(line string) (o jsonObject, err error) {
	switch start := strings.TrimSpace(line); {
	case start == "{", strings.HasPrefix(start, "["):
		return nil, errSpread
	case !strings.HasPrefix(start, "{") && strings.Contains(line, `{"`):
		return nil, unknown(line)
	}
	if err := json.Unmarshal([]byte(line), &o); err != nil {
		return nil, plainError(err)
	}
	var inner jsonObject
	if json.Unmarshal(o["request"], &inner) == nil {
		for name, value := range inner {
			o["request."+name] = value
		}
	}
	return o, nil
}

// value returns a string's text, and any other value as JSON.
func (o jsonObject) value(name string) (text string) {
	raw := o[name]
	if json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	return text // "" for null
}

func (o jsonObject) names() []string {
	return slices.DeleteFunc(slices.Collect(maps.Keys(o)), func(name string) bool { return first(o, name) == "" })
}

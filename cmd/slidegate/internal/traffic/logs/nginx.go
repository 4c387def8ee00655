package logs

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	errTemplateTime = errors.New("the log_format has no time: want $time_local, $time_iso8601 or $msec")
	errNotNGINX     = errors.New("these are not NGINX's variables: write $remote_addr, $time_local or $time_iso8601, $request and $status where the line has them, and other text as it is")
	errTemplatePath = errors.New("the log_format has no path: want $request, $request_uri or $uri")
)

// Template is a log_format of NGINX, as "Module ngx_http_log_module" defines it.
type Template struct {
	names  []string
	line   *regexp.Regexp
	starts []*regexp.Regexp // of the line up to each variable and what follows it
}

var (
	directive = regexp.MustCompile(`^log_format\s+\S+\s+`)
	escaping  = regexp.MustCompile(`^escape=\w+\s+`)
	pieces    = regexp.MustCompile(`^(?s:'(?:[^'\\]|\\.)*'\s*|"(?:[^"\\]|\\.)*"\s*)+$`)
	piece     = regexp.MustCompile(`(?s)'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"`)
	name      = regexp.MustCompile(`^\w+$`)

	// confEscapes undoes what nginx.conf and httpd.conf escape, with and without quotes.
	confEscapes = strings.NewReplacer(`\"`, `"`, `\'`, `'`, `\\`, `\`, `\t`, "\t", `\r`, "\r", `\n`, "\n")

	// apache matches a directive of mod_log_config, with the condition and the
	// name that it may have, and the letters behind it, which other formats have.
	apache     = regexp.MustCompile(`%(?:!?\d+(?:,\d+)*)?[<>]?(?:\{([^}]*)\})?(\^[a-zA-Z]{2}|[a-zA-Z%])([a-zA-Z_]*)`)
	apacheLine = regexp.MustCompile(`^(?:LogFormat|CustomLog\s+\S+|pattern=)\s*"(.*)"(?:\s+\S+)?$`)
	apacheAs   = map[string]string{"h": "$remote_addr", "a": "$remote_addr", "l": "-", "u": "$remote_user", "t": "[$time_local]", "sect": "$msec", "r": "$request",
		"s": "$status", "b": "$bytes", "B": "$bytes", "O": "$bytes", "v": "$host", "V": "$host", "p": "$server_port", "m": "$request_method", "U": "$uri",
		"q": "$is_args$args", "%": "%"}

	variable = regexp.MustCompile(`\$(?:\{(\w+)\}|(\w+))`)
)

// ParseTemplate reads a log_format as nginx.conf has it: a directive, its quoted
// strings, or their text alone.
func ParseTemplate(text string) (*Template, error) {
	text = strings.TrimSuffix(strings.TrimSpace(text), ";")
	text = escaping.ReplaceAllString(directive.ReplaceAllString(text, ""), "")
	if pieces.MatchString(text) {
		all := piece.FindAllString(text, -1)
		for i, quoted := range all {
			all[i] = quoted[1 : len(quoted)-1]
		}
		text = strings.Join(all, "")
	}
	if text := apacheLine.ReplaceAllString(text, "$1"); apache.MatchString(text) && !strings.Contains(text, "$") {
		instead := fromApache(text)
		if _, err := ParseTemplate("$" + instead); err != nil {
			return nil, errNotNGINX
		}
		return nil, fmt.Errorf("these are Apache's directives, not NGINX's variables: write '%s'", instead)
	}
	if name.MatchString(text) {
		return nil, fmt.Errorf("%s is the name of a log_format: write its text in nginx.conf, or leave the flag out for common and combined", text)
	}
	text = confEscapes.Replace(text)
	t := &Template{}
	if err := t.compile(text); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(t.names, func(name string) bool { return name == "time_local" || name == "time_iso8601" || name == "msec" }) {
		return nil, errTemplateTime
	}
	if !slices.ContainsFunc(t.names, func(name string) bool { return slices.Contains(nginx.path, name) }) {
		return nil, errTemplatePath
	}
	return t, nil
}

// fromApache writes a LogFormat of Apache, as "Module mod_log_config" defines it, as
// a log_format. Directives without a variable become one that nothing reads.
func fromApache(text string) string {
	return apache.ReplaceAllStringFunc(confEscapes.Replace(strings.ReplaceAll(text, "&quot;", `"`)), func(directive string) string {
		parts := apache.FindStringSubmatch(directive)
		switch name, letter := parts[1], parts[2]; {
		case parts[3] != "":
			return directive
		case letter == "i":
			return "$http_" + strings.ToLower(strings.ReplaceAll(name, "-", "_"))
		case strings.Contains(name, "%Y-%m"):
			return "$time_iso8601"
		case strings.Contains(name, "%"):
			return "$time_local"
		default:
			return cmp.Or(apacheAs[name+letter], apacheAs[letter], "$other")
		}
	})
}

// compile makes an expression with a group for each variable. A value ends
// where the text after its variable begins.
func (t *Template) compile(text string) (err error) {
	at := variable.FindAllStringSubmatchIndex(text, -1)
	if len(at) == 0 {
		return errTemplateTime
	}
	pattern := `(?s)^` + regexp.QuoteMeta(text[:at[0][0]])
	for i, place := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		name, after := variable.ReplaceAllString(text[place[0]:place[1]], "$1$2"), text[place[1]:end]
		pattern += valuePattern(name, after) + regexp.QuoteMeta(after)
		start, err := regexp.Compile(pattern)
		if err != nil { // too many variables
			return fmt.Errorf("log_format: %w", err)
		}
		t.names, t.starts = append(t.names, name), append(t.starts, start)
	}
	t.line, err = regexp.Compile(pattern + "$")
	return err
}

func valuePattern(name, after string) string {
	switch {
	case name == "is_args":
		return `(\??)`
	case name == "status":
		return `(\d{3}|0|-)`
	case name == "request_uri":
		return `([^\s"]*)`
	case name == "host", name == "http_host", name == "server_name":
		return `([^\s/"]*)`
	case strings.HasSuffix(name, "uri") && after == "": // $uri$is_args$args
		return `([^\s?"]*)`
	case strings.HasPrefix(after, `"`):
		return `((?:[^"\\]|\\.)*|.*?)` // the latter for values whose quotes are not escaped
	}
	return `(.*?)`
}

// parse reads a line.
func (t *Template) parse(line string, r *record) (bool, error) {
	values := t.line.FindStringSubmatch(line)
	if values == nil {
		return false, t.mismatch(line)
	}
	for i, value := range values {
		values[i] = unescape(value)
	}
	return nginx.read(&row{t.names, values[1:]}, r)
}

// mismatch says where a line does not fit.
func (t *Template) mismatch(line string) error {
	for i, start := range t.starts {
		if !start.MatchString(line) {
			return fmt.Errorf("the line does not fit the log_format from $%s on", t.names[i])
		}
	}
	return fmt.Errorf("text follows $%s, the last variable of the log_format", t.names[len(t.names)-1])
}

// nginx has the variables that mean something to rules. $uri, which NGINX has
// decoded, counts only if there is no path as sent.
var nginx = table{
	times: []timeField{{"msec", anyTime}, {"time_iso8601", anyTime}, {"time_local", commonTime}},
	path:  []string{"request", "request_uri", "uri", "document_uri"},
	fields: []field{
		{[]string{"remote_addr"}, setIP},
		{[]string{"request"}, (*record).setRequestLine}, // the path in it
		{[]string{"request_method"}, setMethod},
		{[]string{"status"}, setStatus},
		{[]string{"http_host", "host"}, setHeader("host")},
	},
	finish: func(l namedFields, r *record) error {
		if query := first(l, "args", "query_string"); query != "" && r.Target != "" && first(l, "request", "request_uri") == "" {
			r.Target += "?" + query
		}
		for _, name := range l.names() {
			if header, ok := strings.CutPrefix(name, "http_"); ok && header != "host" {
				r.addHeader(strings.ReplaceAll(header, "_", "-"), first(l, name))
			}
		}
		return nil
	},
}

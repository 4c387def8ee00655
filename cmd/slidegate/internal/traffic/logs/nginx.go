package logs

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	errTemplateTime = errors.New("the log_format has no time: want $time_local, $time_iso8601 or $msec")
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

	apache        = regexp.MustCompile(`%[<>]?(\{[^}]*\})?[a-zA-Z]`)
	apacheHeader  = regexp.MustCompile(`%\{[\w-]+\}i`)
	apacheLetters = strings.NewReplacer("%h", "$remote_addr", "%a", "$remote_addr", "%l", "-", "%u", "$remote_user", "%t", "[$time_local]",
		"%r", "$request", "%>s", "$status", "%s", "$status", "%b", "$bytes", "%O", "$bytes", "%B", "$bytes", "%v", "$host", "%V", "$host", "%p", "$server_port")

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
	if apache.MatchString(text) && !strings.Contains(text, "$") {
		return nil, fmt.Errorf("these are Apache's directives, not NGINX's variables: write '%s'", fromApache(text))
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
// a log_format.
func fromApache(text string) string {
	text = apacheHeader.ReplaceAllStringFunc(confEscapes.Replace(text), func(header string) string {
		return "$http_" + strings.ToLower(strings.ReplaceAll(header[2:len(header)-2], "-", "_"))
	})
	return apacheLetters.Replace(text)
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

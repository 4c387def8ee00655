package logs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// jsonTables are the formats of JSON objects with names of their own.
var jsonTables = map[Format]jsonTable{
	APIGateway: {table: &apiGateway},
	Caddy:      caddy,
	CloudFront: {table: &cloudFront},
	Envoy:      envoy,
	Traefik:    traefik,
}

// recognize returns the format of a line by what is in it; "" for none. It
// returns JSONL for any JSON object that is of no other format.
func recognize(line string) Format {
	switch line = strings.TrimLeft(line, " \t"); {
	case strings.HasPrefix(line, "{"):
		return recognizeJSON(line)
	case strings.HasPrefix(line, "#Version:"), strings.HasPrefix(line, "#Fields:"):
		return CloudFront
	}
	kind, when, _ := strings.Cut(line, " ")
	when, _, _ = strings.Cut(when, " ")
	if _, err := parseTime(when); err == nil && isALBType(kind) {
		return ALB
	}
	if _, err := parseCLF(line, &record{}); !errors.Is(err, errNoClient) && !errors.Is(err, errNoStamp) {
		return CLF
	}
	values := strings.Split(line, ",")
	for i := range values {
		values[i] = strings.Trim(strings.TrimSpace(values[i]), `"`)
	}
	switch {
	case slices.Contains(values, "time") && !strings.ContainsAny(strings.Join(values, ""), " \t"): // names
		return CSV
	case clfTimeAt(values) > 0:
		return APIGateway
	}
	return ""
}

func recognizeJSON(line string) Format {
	o, err := parseObject(line, caddy.nested) // of the others, none has such an object
	if err != nil {
		return JSONL
	}
	for _, f := range Formats {
		if t, ok := jsonTables[f]; ok && t.matches(o) {
			return f
		}
	}
	return JSONL
}

// detector parses a log of a format that it finds out. Lines that no format
// recognizes are errors until then.
type detector struct {
	suffix Format // what the log's name says
	warn   func(string)
	known  parser // nil until it is found out
}

func (d *detector) parse(line string, r *record) (bool, error) {
	if d.known != nil {
		return d.known(line, r)
	}
	f := recognize(line)
	if f == "" && d.suffix == CLF {
		return false, unknown(line)
	}
	if f == "" {
		f = d.suffix
	}
	parse := f.parser(d.warn)
	if f != JSONL {
		d.known = parse
		return parse(line, r)
	}
	found, err := parse(line, r)
	switch {
	case found: // a log in JSON may begin with messages
		d.known = parse
	case errors.Is(err, errNoTime):
		err = noTimeAnywhere(line, err)
	}
	return found, err
}

// noTimeAnywhere names the times of all formats.
func noTimeAnywhere(line string, err error) error {
	o, failed := parseObject(line, "")
	if failed != nil {
		return err
	}
	looked := []string{"time"}
	for _, f := range Formats {
		if t, ok := jsonTables[f]; ok {
			looked = append(looked, t.timeNames()...)
		}
	}
	slices.Sort(looked)
	return noTime(slices.Compact(looked), o)
}

func unknown(line string) error {
	if strings.Count(line, "\t") > 2 {
		return errNoFieldsLine
	}
	return fmt.Errorf("%s is in no known format: name it by --format, or NGINX's log_format by --log-format", quote(line))
}

// forced parses a log of a format that was named. Until it has read a request,
// it says which format a line that it cannot read looks like.
func forced(f Format, parse parser) parser {
	fits := false
	return func(line string, r *record) (bool, error) {
		found, err := parse(line, r)
		if fits = fits || found; fits || err == nil {
			return found, err
		}
		if other := recognize(line); other != "" && other != f {
			err = fmt.Errorf("%w; the line looks like %s", err, other)
		}
		return found, err
	}
}

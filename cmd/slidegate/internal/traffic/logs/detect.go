package logs

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// jsonTables are the formats of JSON objects.
var jsonTables = map[Format]*table{APIGateway: &apiGateway, Caddy: &caddy, CloudFront: &cloudFront, Envoy: &envoy, JSONL: &jsonLines, Traefik: &traefik}

// w3cDirective matches the lines that W3C's Extended Log File Format has beside
// values, in any order.
var w3cDirective = regexp.MustCompile(`^#(Version|Fields|Software|(Start-|End-)?Date|Remark):`)

// recognize returns the format of a line by what is in it; "" for none. It
// returns JSONL for any JSON object that is of no other format.
func recognize(line string) Format {
	switch line = strings.TrimLeft(line, " \t"); {
	case strings.HasPrefix(line, "{"), strings.HasPrefix(line, "[{"), line == "[":
		return recognizeJSON(line)
	case w3cDirective.MatchString(line):
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
	case slices.Contains(values, "time"): // names
		return CSV
	case clfTimeAt(values) > 0:
		return APIGateway
	}
	return ""
}

func recognizeJSON(line string) Format {
	o, err := parseObject(line)
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

// detect returns a parser for a log whose format it finds out. Lines that no
// format recognizes are errors until then.
func detect(warn func(string)) parser {
	var known parser
	return func(line string, r *record) (bool, error) {
		if known != nil {
			return known(line, r)
		}
		f := recognize(line)
		if f == "" {
			return false, unknown(line)
		}
		parse := f.parser(warn)
		found, err := parse(line, r)
		if found || f != JSONL { // a log in JSON may begin with messages
			known = parse
		}
		return found, err
	}
}

// inCSV matches what CloudWatch exports as CSV: names, and lines as values.
var inCSV = regexp.MustCompile(`^"?@?timestamp"?,"?@?message"?|^[^{]*,"\{""`)

// unknown says what to do about a line in no format, as of JSON behind other text.
func unknown(line string) error {
	if strings.Count(line, "\t") > 2 && !strings.Contains(line, "{") {
		return errNoFieldsLine
	}
	if inCSV.MatchString(line) {
		return errInCSV
	}
	if strings.Contains(line, `{"`) {
		return errTextFirst
	}
	return fmt.Errorf("%s %w", quote(line), errUnknown)
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

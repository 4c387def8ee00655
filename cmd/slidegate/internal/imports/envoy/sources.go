package envoy

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports"
)

// Sources map the keys of descriptors to sources of requests. Descriptor files
// do not have this: the rate limit actions in the proxy's configuration do.
//
// A nil map stands for the conventional keys:
// remote_address and masked_remote_address are the client's address; path and
// :path the path; method, :method and http_method the method; and a key such
// as x-user is the header of that name, unless it is x-api-key, a secret.
type Sources map[string]meaning

// meaning is what a descriptor's entry stands for in requests.
type meaning struct {
	source string // a source of key templates, "path", or everyRequest
	// sourceValue is the value of the source that the entry matches.
	sourceValue string
}

// everyRequest is the source of entries that every request has.
const everyRequest = "any"

// ParseSources reads mappings of keys. Each has one of these forms:
//
//	user_id=jwt.sub                    a source of key templates, or path
//	generic_key:login=path:/v1/login   one value of a key: a source and its value
//	source_cluster=any                 every request has it
func ParseSources(pairs []string) (Sources, error) {
	s := Sources{}
	var wrong []error
	for _, pair := range pairs {
		if problem := s.add(pair); problem != "" {
			wrong = append(wrong, fmt.Errorf("%q: %s", pair, problem))
		}
	}
	return s, errors.Join(wrong...)
}

func (s Sources) add(pair string) (problem string) {
	left, right, ok := strings.Cut(pair, "=")
	if !ok || left == "" || right == "" {
		return "write KEY=SOURCE, such as user_id=jwt.sub, or KEY:VALUE=SOURCE:VALUE, such as generic_key:login=path:/v1/login"
	}
	if _, twice := s[left]; twice {
		return "is mapped twice"
	}
	var m meaning
	m.source, m.sourceValue, _ = strings.Cut(right, ":")
	oneValue := strings.Contains(strings.TrimPrefix(left, ":"), ":")
	switch {
	case m.source == everyRequest && m.sourceValue != "":
		return "any takes no value"
	case m.source != everyRequest && oneValue != (m.sourceValue != ""):
		return "write a value on both sides or on neither"
	case m.source != everyRequest && m.source != "path":
		if problem := imports.Refused("{"+m.source+"}", nil); problem != "" {
			return problem
		}
	}
	s[left] = m
	return ""
}

// find returns what a descriptor stands for; ok is false if its key is unknown.
func (im *importer) find(d *descriptor) (m meaning, ok bool) {
	if m, ok = im.sources[d.Key+":"+d.Value]; ok && d.Value != "" {
		im.used[d.Key+":"+d.Value] = true
		return m, true
	}
	if m, ok = im.sources[d.Key]; ok {
		im.used[d.Key] = true
	} else if m.source, ok = conventional(d.Key); !ok {
		return meaning{}, false
	}
	m.sourceValue = d.Value
	return m, true
}

var conventions = map[string]string{
	"remote_address": "ip", "masked_remote_address": "ip", "path": "path", ":path": "path",
	"method": "method", ":method": "method", "http_method": "method",
}

var customHeader = regexp.MustCompile(`^x-[a-z0-9-]+$`)

// conventional returns the source of a key with a conventional name.
func conventional(key string) (source string, ok bool) {
	name := strings.ToLower(key)
	if customHeader.MatchString(name) && name != "x-api-key" {
		return "header." + name, true
	}
	source, ok = conventions[name]
	return source, ok
}

// whyUnknown returns why a descriptor's key has no source and how to map it.
func whyUnknown(key, value string) string {
	if key == value {
		return fmt.Sprintf("it is a label that the proxy sets for one rule of a route, as Envoy Gateway does: map %s=any, or %[1]s:VALUE=path:/v1/** to that route's paths", imports.Show(key))
	}
	switch strings.ToLower(key) {
	case "generic_key", "header_match", "query_match", "remote_address_match":
		return fmt.Sprintf("its values are labels that the proxy's routes set: map each value, such as %s:login=path:/v1/login",
			imports.Show(key))
	case "source_cluster", "destination_cluster":
		return fmt.Sprintf("it names a cluster of the proxy: map it to the paths that go there, such as %s:NAME=path:/v1/**, or %[1]s=any",
			imports.Show(key))
	case "x-api-key", "api_key", "apikey":
		return fmt.Sprintf("a key itself has no place in a counter's name: map %s=apikey to count by its id", imports.Show(key))
	}
	return fmt.Sprintf("the file does not say what fills it: map it, such as %s=jwt.sub or %[1]s=header.x-user", imports.Show(key))
}

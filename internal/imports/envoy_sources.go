package imports

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/yamlfile"
)

// Sources say what fills the keys of descriptors. A proxy's rate limit actions do, which descriptor files do not hold.
//
// remote_address and masked_remote_address are the client's address, path and :path the path, method, :method and
// http_method the method, and a key such as x-user is the header of that name, unless it is x-api-key, which is a secret.
// Everything else has to be said. The zero Sources know no more than that.
type Sources struct {
	said map[string]meaning
	used map[string]bool
}

// meaning is what an entry of a descriptor stands for.
type meaning struct {
	source string // as in key templates, "path", or always
	value  string // in the place of the descriptor's own; empty to keep that
}

// always is the source of what every request has.
const always = "any"

// ParseSources reads what was said of keys, each as one of
//
//	user_id=jwt.sub                    a source, as keys of rules have it, or path
//	generic_key:login=path:/v1/login   one value of a key: a source and its value
//	source_cluster=any                 every request has it
func ParseSources(pairs []string) (Sources, error) {
	s := Sources{said: map[string]meaning{}}
	var wrong []error
	for _, pair := range pairs {
		if problem := s.add(pair); problem != "" {
			wrong = append(wrong, fmt.Errorf("%q: %s", pair, problem))
		}
	}
	return s, errors.Join(wrong...)
}

func (s *Sources) add(pair string) (problem string) {
	left, right, ok := strings.Cut(pair, "=")
	if !ok || left == "" || right == "" {
		return "write KEY=SOURCE, such as user_id=jwt.sub, or KEY:VALUE=SOURCE:VALUE, such as generic_key:login=path:/v1/login"
	}
	if _, twice := s.said[left]; twice {
		return "is said twice"
	}
	var m meaning
	m.source, m.value, _ = strings.Cut(right, ":")
	one := strings.Contains(strings.TrimPrefix(left, ":"), ":")
	switch {
	case m.source == always && m.value != "":
		return "any takes no value"
	case m.source != always && one != (m.value != ""):
		return "write a value on both sides or on neither"
	case m.source != always && m.source != "path" && badSource(m.source) != "":
		return badSource(m.source)
	}
	s.said[left] = m
	return ""
}

// badSource returns why a key cannot count by this source; nothing if it can.
func badSource(source string) (problem string) { return refused("{"+source+"}", nil) }

// refused returns why the rules' own parser refuses a key or a selector; nothing if it takes them.
func refused(key string, when selector) (problem string) {
	d := document{rules: []*rule{{name: "x", when: when, key: key, limit: bound{"fixed_window", 1, "1s", 0}}}}
	text, err := d.write()
	if err == nil {
		_, err = rulefile.Parse("", text)
	}
	if err == nil {
		return ""
	}
	if first := (*yamlfile.Error)(nil); errors.As(err, &first) {
		return first.Reason
	}
	return err.Error()
}

// of returns what an entry stands for; ok is false for a key that nothing is known of.
func (s *Sources) of(d *descriptor) (m meaning, ok bool) {
	if m, ok = s.said[d.key+":"+d.value]; ok && d.value != "" {
		s.used[d.key+":"+d.value] = true
		return m, true
	}
	if m, ok = s.said[d.key]; ok {
		s.used[d.key] = true
	} else if m.source, ok = usual(d.key); !ok {
		return meaning{}, false
	}
	m.value = d.value
	return m, true
}

var customHeader = regexp.MustCompile(`^x-[a-z0-9-]+$`)

// usual returns the source of a key whose name tells it.
func usual(key string) (source string, ok bool) {
	switch name := strings.ToLower(key); {
	case slices.Contains([]string{"remote_address", "masked_remote_address"}, name):
		return "ip", true
	case slices.Contains([]string{"path", ":path"}, name):
		return "path", true
	case slices.Contains([]string{"method", ":method", "http_method"}, name):
		return "method", true
	case customHeader.MatchString(name) && name != "x-api-key":
		return "header." + name, true
	}
	return "", false
}

// whyUnknown says how to tell what a key stands for.
func whyUnknown(key string) string {
	switch strings.ToLower(key) {
	case "generic_key", "header_match", "query_match", "remote_address_match":
		return fmt.Sprintf("its values are labels that the proxy's routes hand out: say what each stands for, such as %s:login=path:/v1/login", show(key))
	case "source_cluster", "destination_cluster":
		return fmt.Sprintf("it names a cluster of the proxy: say which paths go there, such as %s:NAME=path:/v1/**, or %[1]s=any", show(key))
	case "x-api-key", "api_key", "apikey":
		return fmt.Sprintf("a key itself has no place in a counter's name: write %s=apikey to count by its id", show(key))
	}
	return fmt.Sprintf("the file does not say what fills it: say so, such as %s=jwt.sub or %[1]s=header.x-user", show(key))
}

// unused returns what was said of keys that no descriptor has.
func (s *Sources) unused() []string {
	var names []string
	for name := range s.said {
		if !s.used[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

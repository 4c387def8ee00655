package imports

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/yamlfile"
)

// Envoy turns descriptor files of envoyproxy/ratelimit into one rules document. The schema is that of its README and of
// src/config/config_impl.go; sources say what fills the descriptors' keys.
//
// Each chain of keys is taken for a descriptor that the proxy sends with every request that has a value for each of them,
// and each limit on it becomes a rule. Where the service takes the most specific descriptor, the more general rule gets an
// exception: by overrides where the values are those of its key, else by unless. Windows are fixed, as they are there.
//
// The error is of type yamlfile.Errors for what is wrong in a file, as the service would refuse it too.
func Envoy(sources Sources, files ...File) (*Document, error) {
	sources.used = map[string]bool{}
	im := &envoy{sources: sources, names: names{}}
	domains, err := im.read(files)
	if err != nil {
		return nil, err
	}
	im.head(domains)
	for _, d := range domains {
		if len(domains) > 1 {
			im.domain = d.name
		}
		im.list(nil, d.descriptors)
	}
	im.replace()
	for _, key := range im.sources.unused() {
		im.lose(spot{"sources", math.MaxInt}, show(key), "no descriptor has this key")
	}
	text, err := im.doc.write()
	if err != nil {
		return nil, err
	}
	return &Document{YAML: text, Lost: im.sorted()}, nil
}

// envoy is an import on its way.
type envoy struct {
	sources Sources
	domain  string // of the descriptors at hand, where there are several
	doc     document
	names   names
	limited []*step // those with a limit
	exempt  int     // values in all of unless
	losses
}

// domain is all that files say of it.
type domain struct {
	name        string
	descriptors []*descriptor
}

func (im *envoy) read(files []File) (domains []*domain, err error) {
	var errs yamlfile.Errors
	reader := envoyFile{domain: map[string]map[string]bool{}, losses: &im.losses}
	for i, f := range files {
		t, root, err := readTree(f, i)
		if err != nil {
			var bad yamlfile.Errors
			errors.As(err, &bad)
			errs = append(errs, bad...)
			continue
		}
		reader.tree = t
		name, descriptors := reader.read(root)
		errs = append(errs, t.errors...)
		at := slices.IndexFunc(domains, func(d *domain) bool { return d.name == name })
		if at < 0 {
			at, domains = len(domains), append(domains, &domain{name: name})
		}
		domains[at].descriptors = append(domains[at].descriptors, descriptors...)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return domains, nil
}

func (im *envoy) head(domains []*domain) {
	quoted := make([]string, len(domains))
	for i, d := range domains {
		quoted[i] = fmt.Sprintf("%q", short(d.name))
	}
	im.doc.head = []string{"Imported from descriptors of envoyproxy/ratelimit, domain " + strings.Join(quoted, ", ") + "."}
	if len(domains) > 1 {
		im.lose(spot{"domains", 0}, strings.Join(quoted, ", "),
			"the proxy asks for one domain, and all rules of a document apply: import the domains of different APIs on their own")
	}
}

// list imports a list of descriptors that stands below a path.
func (im *envoy) list(path []*step, descriptors []*descriptor) {
	steps := im.steps(path, descriptors)
	for _, s := range steps { // what is more special makes its exceptions from what is more general
		if s.family.general == s {
			im.general(along(path, s))
		}
	}
	for _, s := range slices.Backward(steps) { // of wildcards the first one wins
		if slices.Contains(s.family.wild, s) {
			im.special(along(path, s))
		}
	}
	for _, s := range steps {
		if !s.isGeneral() && !s.isWild() {
			im.special(along(path, s))
		}
	}
	for _, s := range steps {
		im.except(along(path, s))
		im.list(along(path, s), s.children)
	}
}

// steps finds out what descriptors stand for, and leaves out those of which that is not known, or which are never taken.
func (im *envoy) steps(path []*step, descriptors []*descriptor) []*step {
	var steps []*step
	families := map[string]*family{}
	for _, d := range descriptors {
		s := &step{descriptor: d}
		var ok bool
		if s.meaning, ok = im.sources.of(d); !ok {
			im.lose(d.spot, chain(along(path, s)), whyUnknown(d.key))
			continue
		}
		s.locate()
		if families[d.key] == nil {
			families[d.key] = &family{}
		}
		if dead := families[d.key].join(s); dead != nil {
			im.lose(dead.spot, chain(along(path, dead)), "another descriptor beside it takes every value first")
			steps = slices.DeleteFunc(steps, func(s *step) bool { return s == dead })
		}
		if s.family != nil {
			steps = append(steps, s)
		}
		if d.limit != nil {
			im.limited = append(im.limited, s)
		}
	}
	return steps
}

// along returns a path that goes one step further.
func along(path []*step, s *step) []*step { return append(path[:len(path):len(path)], s) }

// chain writes a path as people do.
func chain(path []*step) string {
	words := make([]string, len(path))
	for i, s := range path {
		words[i] = s.descriptor.String()
	}
	return strings.Join(words, " > ")
}

const nothingToLift = "nothing limits these requests here, so there is nothing to lift"

// general imports what a list says of all values of a key.
func (im *envoy) general(path []*step) {
	switch s := path[len(path)-1]; {
	case s.isLimited():
		im.limit(path)
	case s.limit != nil || len(s.children) == 0:
		im.lose(s.spot, chain(path)+": unlimited", nothingToLift)
	}
}

// special imports what a list says of some values of a key.
func (im *envoy) special(path []*step) {
	s := path[len(path)-1]
	if s.isLimited() && s.limit.requests == 0 && im.ban(path) {
		s.settled = true
		return
	}
	if why, tried := im.override(path); tried {
		s.settled = true
		if why != "" {
			im.lose(s.spot, chain(path), why)
		}
		return
	}
	covered := s.isCovered()
	switch {
	case s.isLimited():
		im.limit(path)
		s.settled = s.rule == nil
	case covered && s.why != "":
		im.lose(s.spot, chain(path)+": unlimited", s.why)
		s.settled = true
	case !covered && s.isAlone() && (s.limit != nil || len(s.children) == 0):
		im.lose(s.spot, chain(path)+": unlimited", nothingToLift)
	}
}

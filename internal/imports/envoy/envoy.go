// Package envoy imports descriptor files of envoyproxy/ratelimit.
package envoy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/imports"
	"github.com/slidegate/slidegate/internal/yamlfile"
)

// Import turns descriptor files of envoyproxy/ratelimit into one rules
// document. Their schema is in its README and src/config/config_impl.go;
// sources map the descriptors' keys.
//
// Import assumes that the proxy sends each chain of keys with every request
// that has a value for each of them. Each limit on a chain becomes a rule with
// a fixed window, as the service counts. The service takes the most specific
// descriptor, but all rules that match apply; so a more general rule gets an
// exception: an override for a value of its key, and unless otherwise.
//
// The error is of type yamlfile.Errors for what is wrong in a file; the service
// would refuse such a file too.
func Import(sources Sources, files ...imports.File) (*imports.Document, error) {
	sources.used = map[string]bool{}
	im := &importer{sources: sources, names: imports.Names{}}
	domains, err := im.read(files)
	if err != nil {
		return nil, err
	}
	im.writeHead(domains)
	for _, d := range domains {
		if len(domains) > 1 {
			im.domain = d.name
		}
		im.importList(nil, d.descriptors)
	}
	im.applyReplaces()
	for _, key := range im.sources.unused() {
		im.Record(imports.Place{Name: "sources"}, imports.Show(key), "no descriptor has this key")
	}
	text, err := im.draft.Write()
	if err != nil {
		return nil, err
	}
	return &imports.Document{YAML: text, Lost: im.Sorted()}, nil
}

// importer is the state of one import.
type importer struct {
	sources Sources
	domain  string // prefixes names of rules if there are several domains
	draft   imports.Draft
	names   imports.Names
	limited []*node // the nodes with a limit, also an unlimited one
	exempt  int     // how many values all unless fields have
	imports.Losses
}

// domain holds the descriptors of all files with the same domain.
type domain struct {
	name        string
	descriptors []descriptor
	seen        map[string]bool
}

// read reads all files and collects what is wrong in any of them. Several files
// may add to one domain, as with the service's MERGE_DOMAIN_CONFIG.
func (im *importer) read(files []imports.File) (domains []*domain, err error) {
	var wrong yamlfile.Errors
	byName := map[string]*domain{}
	for i, f := range files {
		var content file
		source, err := imports.Read(f, i, &content)
		if err == nil {
			d := byName[content.Domain]
			if d == nil {
				d = &domain{name: content.Domain, seen: map[string]bool{}}
				byName[d.name] = d
				domains = append(domains, d)
			}
			reader := fileReader{source, &im.Losses}
			reader.checkFile(&content, d.seen)
			d.descriptors = append(d.descriptors, content.Descriptors...)
			err = source.Err()
		}
		var some yamlfile.Errors
		errors.As(err, &some)
		wrong = append(wrong, some...)
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return domains, nil
}

func (im *importer) writeHead(domains []*domain) {
	quoted := make([]string, len(domains))
	for i, d := range domains {
		quoted[i] = fmt.Sprintf("%q", imports.Short(d.name))
	}
	all := strings.Join(quoted, ", ")
	im.draft.Comment("", "Imported from descriptors of envoyproxy/ratelimit, domain "+all+".")
	if len(domains) > 1 {
		im.Record(imports.Place{Name: "domains"}, all,
			"the proxy asks for one domain, and all rules of a document apply: import the domains of different APIs separately")
	}
}

// importList imports the list of descriptors below a path. Exceptions need the
// rules that they are exceptions from, so the more general nodes come first.
func (im *importer) importList(path []*node, descriptors []descriptor) {
	nodes := im.resolve(path, descriptors)
	for _, n := range nodes {
		if n.siblings.general == n {
			im.importGeneral(extend(path, n))
		}
	}
	for _, n := range slices.Backward(nodes) { // the first wildcard is the most specific
		if slices.Contains(n.siblings.wild, n) {
			im.importSpecific(extend(path, n))
		}
	}
	for _, n := range nodes {
		if !n.isGeneral() && !n.isWild() {
			im.importSpecific(extend(path, n))
		}
	}
	for _, n := range nodes {
		im.addUnless(extend(path, n))
		im.importList(extend(path, n), n.Children)
	}
}

// resolve makes nodes of descriptors. It leaves out those whose key is unknown,
// and those that the service never takes.
func (im *importer) resolve(path []*node, descriptors []descriptor) []*node {
	var nodes []*node
	byKey := map[string]*siblings{}
	for i := range descriptors {
		d := &descriptors[i]
		n := &node{descriptor: d}
		var ok bool
		if n.meaning, ok = im.sources.find(d); !ok {
			im.Record(d.place, describe(extend(path, n)), whyUnknown(d.Key))
			continue
		}
		n.resolve()
		if byKey[d.Key] == nil {
			byKey[d.Key] = &siblings{}
		}
		nodes = append(nodes, n)
		if other := byKey[d.Key].join(n); other != nil {
			im.Record(other.place, describe(extend(path, other)), "another descriptor beside it takes every value first")
			nodes = slices.DeleteFunc(nodes, func(n *node) bool { return n == other })
		}
		if d.Limit != nil {
			im.limited = append(im.limited, n)
		}
	}
	return nodes
}

// extend returns a path that is longer by one node, and leaves path as it is.
func extend(path []*node, n *node) []*node { return append(slices.Clone(path), n) }

// describe returns a path for messages, such as "tenant=acme > user".
func describe(path []*node) string {
	words := make([]string, len(path))
	for i, n := range path {
		words[i] = n.descriptor.String()
	}
	return strings.Join(words, " > ")
}

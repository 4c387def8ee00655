// Package envoy imports descriptor files of envoyproxy/ratelimit.
package envoy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
)

// Import turns descriptor files of envoyproxy/ratelimit into one rules
// document. Their schema is in its README and src/config/config_impl.go;
// sources map the descriptors' keys.
//
// Import assumes that the proxy sends each chain of keys with every request
// that has a value for each of them. Each limit on a chain becomes a rule with
// a fixed window, as the service counts. The service applies only the most
// specific descriptor, but Slidegate applies all rules that match. So a more
// general rule gets an exception: an override if the exception is a value of its
// key, else the field unless.
//
// The error is of type yamlfile.Errors if a file is invalid; the service would
// refuse such a file too.
func Import(sources Sources, files ...imports.File) (*imports.Result, error) {
	im := &importer{Builder: imports.NewBuilder(), sources: sources, used: map[string]bool{}, names: imports.Names{}}
	name, descriptors, err := im.read(files)
	if err != nil {
		return nil, err
	}
	im.Comment("", fmt.Sprintf("Imported from descriptors of envoyproxy/ratelimit, domain %q.", imports.Short(name)))
	im.importList(nil, descriptors)
	for _, key := range slices.Sorted(maps.Keys(sources)) {
		if !im.used[key] {
			im.Record(imports.Place{Name: "sources"}, imports.Show(key), "no descriptor has this key")
		}
	}
	return im.Result()
}

// importer is the state of one import.
type importer struct {
	imports.Builder
	sources Sources
	used    map[string]bool // keys of sources
	names   imports.Names
}

// read reads all files and collects their errors. Several files may add to one
// domain, as with the service's MERGE_DOMAIN_CONFIG. Files of several domains
// are refused: the proxy asks for one, but all rules of a document apply.
func (im *importer) read(files []imports.File) (domain string, all []descriptor, err error) {
	ids := map[string]bool{}
	for _, f := range files {
		var content file
		source := im.Read(f, &content)
		if source == nil {
			continue
		}
		switch {
		case content.Domain == "":
			source.Fail("domain", "is missing: this is not a descriptor file of envoyproxy/ratelimit")
		case domain == "":
			domain = content.Domain
		case content.Domain != domain:
			source.Fail("domain", "is another than %q: import each domain by itself", imports.Short(domain))
			continue
		}
		checkList(source, "", content.Descriptors, ids)
		all = append(all, content.Descriptors...)
	}
	return domain, all, im.Err()
}

// importList imports descriptors and those below them. Exceptions need the
// rules that they are exceptions from, so the more general nodes come first.
func (im *importer) importList(parent *node, descriptors []descriptor) {
	nodes := im.resolve(parent, descriptors)
	for _, general := range []bool{true, false} {
		for _, n := range nodes {
			if n.isGeneral() == general {
				im.importNode(n)
			}
		}
	}
	for _, n := range nodes {
		im.addUnless(n)
		im.importList(n, n.Children)
	}
}

// resolve makes nodes of descriptors. It leaves out descriptors whose key is
// unknown or whose value is a pattern.
func (im *importer) resolve(parent *node, descriptors []descriptor) []*node {
	var nodes []*node
	byKey := map[string]*siblings{}
	for i := range descriptors {
		d := &descriptors[i]
		n := &node{descriptor: d, parent: parent}
		var ok bool
		if n.meaning, ok = im.find(d); !ok {
			im.lose(n, whyUnknown(d.Key, d.Value))
			continue
		}
		if strings.Contains(d.Value, "*") {
			im.lose(n, "a value with a star is not imported, and a limit for all values holds for these requests too: list the values one by one")
			continue
		}
		n.resolve()
		if byKey[d.Key] == nil {
			byKey[d.Key] = &siblings{}
		}
		byKey[d.Key].add(n)
		nodes = append(nodes, n)
	}
	return nodes
}

// lose records a descriptor that is left out, and how many limits it has below it.
func (im *importer) lose(n *node, why string) {
	if below := im.limitsBelow(n.Children); below > 0 {
		why += fmt.Sprintf("; with it %s below", text.Plural(below, "limit"))
	}
	im.Record(n.place, n.String(), why)
}

func (im *importer) limitsBelow(descriptors []descriptor) (limits int64) {
	for i := range descriptors {
		d := &descriptors[i]
		im.find(d) // so that its key is one that descriptors have
		if d.Limit != nil {
			limits++
		}
		limits += im.limitsBelow(d.Children)
	}
	return limits
}

// importNode makes an entry of deny, an override or a rule of a node, or
// records why it cannot.
func (im *importer) importNode(n *node) {
	if n.isLimited() && n.Limit.Requests == 0 && im.addDeny(n) {
		n.noUnless = true
		return
	}
	if n.canOverride() {
		n.noUnless = true
		if whyNot := im.addOverride(n); whyNot != "" {
			im.Record(n.place, n.String(), whyNot)
		}
		return
	}
	general := n.siblings.general
	switch {
	case n.isLimited():
		im.addRule(n)
		n.noUnless = n.rule == nil
	case general == nil || general == n:
		if n.liftsLimits() {
			im.Record(n.place, n.String()+": unlimited", "nothing limits these requests here, so there is nothing to lift")
		}
	case general.rule != nil && n.whyNot != "":
		im.Record(n.place, n.String()+": unlimited", n.whyNot)
		n.noUnless = true
	}
}

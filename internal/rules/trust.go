package rules

import (
	"slices"
	"strings"
)

// isClient reports whether the client fills in the source: it can make up a new value for every request.
func (s source) isClient() bool {
	for _, known := range sources {
		if known.source == s {
			return known.client
		}
	}
	return false
}

// trustedSource reads a source that decides what a caller may do. What is signed may, and the gateway's own word; what the
// client says is an error, because any client could say it.
func (d *decoder) trustedSource(v value, text string) (p part, ok bool) {
	p, ok = d.source(v, text)
	switch {
	case !ok:
	case p.source == fromClaim || p.source == fromAPIKey || p.source == fromStage:
		return p, true
	case p.source.isClient():
		d.fail(v, "%s is the client's own word, and any client could write it: use a claim such as jwt.plan, apikey or stage", text)
	default:
		d.fail(v, "%s does not say it: use a claim such as jwt.plan, apikey or stage", text)
	}
	return part{}, false
}

// bare makes a message about a source of a key one about a source that stands by itself.
var bare = strings.NewReplacer("{", "", "}", "")

// source reads a source that stands by itself, such as header.x-tokens.
func (d *decoder) source(v value, text string) (part, bool) {
	if inside := bare.Replace(text); inside != text {
		d.fail(v, "a source has braces in keys alone: write %s", inside)
		return part{}, false
	}
	p, _, problem := parseSource(text)
	if problem != "" {
		d.fail(v, "%s", bare.Replace(problem))
	}
	return p, problem == ""
}

// verified is a source of the client that a rule trusts, because the backend verifies it, and where the rule says so.
type verified struct {
	part part
	at   value
}

func (d *decoder) trusted(v value) (trusted []verified) {
	for _, v := range d.some(v) {
		text, ok := d.text(v)
		if !ok {
			continue
		}
		switch p, ok := d.source(v, text); {
		case !ok:
		case !p.source.isClient():
			d.fail(v, "%s is trusted as it is: remove it", text)
		default:
			trusted = append(trusted, verified{p, v})
		}
	}
	return trusted
}

// checkTrusted reports sources that a rule trusts and does not use.
func (d *decoder) checkTrusted(r *Rule, at *places) {
	for _, t := range at.trusted {
		if !r.template.has(t.part) && (r.overridable == nil || !r.overridable.has(t.part)) {
			d.fail(t.at, "%s is no part of the key, %s: remove it", t.part.spell(), r.Key)
		}
	}
}

// overrideBy gives the rule overrides by keys of the template. They must not loosen it where the client fills in the keys,
// unless the rule says that the backend verifies what the client writes there.
func (r *Rule) overrideBy(t *template, trusted []verified) {
	r.overridable = t
	r.lowersOnly = slices.ContainsFunc(t.parts, func(p part) bool {
		return p.source.isClient() && !slices.ContainsFunc(trusted, func(t verified) bool { return t.part == p })
	})
}

func (t *template) has(p part) bool { return slices.Contains(t.parts, p) }

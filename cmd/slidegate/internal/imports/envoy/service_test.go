package envoy

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
)

// sent is an entry of a descriptor that a proxy sends.
type sent struct{ key, value string }

// service is the lookup of envoyproxy/ratelimit, as its README describes it, in
// the descriptors of a file.
type service struct{ descriptors []descriptor }

func newService(t *testing.T, f imports.File) service {
	im := &importer{}
	_, descriptors, err := im.read([]imports.File{f})
	if err != nil {
		t.Fatal(err)
	}
	return service{descriptors}
}

// lookup returns the descriptor whose limit a request's descriptor meets, nil
// for none, and the name of its counter.
func (s service) lookup(entries []sent) (met *descriptor, counter string) {
	list := s.descriptors
	for _, e := range entries {
		if met = choose(list, e); met == nil {
			return nil, ""
		}
		counter += "|" + e.key + "_" + e.value
		list = met.Children
	}
	return met, counter
}

// choose returns the descriptor of a list that matches an entry: of the same
// value, else the one without a value.
func choose(list []descriptor, e sent) *descriptor {
	for _, value := range []string{e.value, ""} {
		i := slices.IndexFunc(list, func(d descriptor) bool { return d.Key == e.key && d.Value == value })
		if i >= 0 {
			return &list[i]
		}
	}
	return nil
}

// chains returns every chain of keys that a file has descriptors for.
func chains(list []descriptor, above []string) (all [][]string) {
	for _, d := range list {
		chain := append(slices.Clone(above), d.Key)
		all = append(append(all, chain), chains(d.Children, chain)...)
	}
	slices.SortFunc(all, slices.Compare)
	return slices.CompactFunc(all, slices.Equal)
}

// applied is what limits a request, as the service or the rules decide.
type applied struct {
	Limits []string // "capacity/window", with "shadow" for shadow mode
	Denied bool
}

// The imported rules apply the same limits as the service to random requests,
// and count them in the same counters, for random files that lose nothing.
func TestRulesDoAsTheService(t *testing.T) {
	const files, requests = 400, 30
	r := rand.New(rand.NewPCG(1, 2))
	pairs := make([]string, len(requestKeys))
	for i, w := range requestKeys {
		pairs[i] = w.key + "=" + w.source
	}
	whole := 0
	for range files {
		text := randomFile(r)
		f := imports.File{Name: "f.yaml", Content: []byte(text)}
		d, err := Import(parseSources(t, pairs...), f)
		if err != nil {
			t.Fatalf("%v in:\n%s", err, text)
		}
		set, err := rulefile.Parse("imported.yaml", []byte(d.Text))
		if err != nil {
			t.Fatalf("%v in:\n%s\nof:\n%s", err, d.Text, text)
		}
		if slices.ContainsFunc(d.Lost, isReal) {
			continue
		}
		whole++
		s, same := newService(t, f), counters{map[string]string{}, map[string]string{}}
		for range requests {
			values := map[string]string{}
			for _, w := range requestKeys {
				values[w.key] = w.sent[r.IntN(len(w.sent))]
			}
			want, theirs := byService(s, values)
			got, ours := byRules(set, values)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%v (-service +rules):\n%s\nfile:\n%s\nrules:\n%s\nlost: %v", values, diff, text, d.Text, d.Lost)
			}
			if !want.Denied {
				same.check(t, theirs, ours, text)
			}
		}
	}
	if whole < files/3 {
		t.Errorf("only %d of %d files were carried over whole", whole, files)
	}
}

// isReal reports whether a loss changes which limits apply to requests.
func isReal(l imports.Lost) bool {
	for _, remark := range []string{"callers without", "IPv6 addresses", "a counter for each path", "the exact spelling of paths", "requests_per_unit: 0", "so there is nothing to lift", "no descriptor has this key"} {
		if strings.Contains(l.What+l.Why, remark) {
			return false
		}
	}
	return true
}

// byService returns the limits that the service applies, and the counter of
// each limit by its text.
func byService(s service, values map[string]string) (a applied, counter map[string]string) {
	counter = map[string]string{}
	for _, chain := range chains(s.descriptors, nil) {
		entries := make([]sent, len(chain))
		for i, key := range chain {
			entries[i] = sent{key, values[key]}
		}
		met, name := s.lookup(entries)
		if met == nil || met.Limit == nil || met.Limit.Unlimited {
			continue
		}
		if met.Limit.Requests == 0 && !met.ShadowMode {
			a.Denied = true
		}
		limit := written(met.Limit.Requests, met.Limit.window, met.ShadowMode)
		a.Limits = append(a.Limits, limit)
		counter[limit] += name
	}
	return a.sorted(), counter
}

// byRules returns the limits that the rules apply, and the counter of each
// limit by its text.
func byRules(set *rules.Set, values map[string]string) (a applied, counter map[string]string) {
	req := &request.Request{
		Method: values["method"], Path: values["path"], IP: netip.MustParseAddr(values["remote_address"]),
		Claims: map[string]any{"tenant": values["tenant"], "sub": values["user"], "plan": values["plan"]},
	}
	a.Denied = set.Banned(req)
	counter = map[string]string{}
	for _, r := range set.Match(nil, req) {
		var o *rules.Override
		if key, ok := r.AppendOverrideKey(nil, req); ok {
			o = set.Override(r.Name, string(key))
		}
		terms := r.Terms(req, "", o, time.Unix(0, 0))
		switch {
		case terms.Denied:
			a.Denied = true
		case !terms.Unlimited:
			l := terms.Limits[0]
			limit := written(l.Capacity, ruledoc.FormatDuration(l.Window), r.Mode == rules.Shadow)
			a.Limits = append(a.Limits, limit)
			counter[limit] += "|" + r.Name + "|" + string(r.AppendKey(nil, req))
		}
	}
	return a.sorted(), counter
}

func written(capacity int64, window string, shadow bool) string {
	text := fmt.Sprintf("%d/%s", capacity, window)
	if shadow {
		text += " shadow"
	}
	return text
}

// sorted drops the limits of a denied request: it counts nowhere.
func (a applied) sorted() applied {
	if a.Denied {
		a.Limits = nil
	}
	slices.Sort(a.Limits)
	return a
}

// counters pairs each counter of the service with one of the rules.
type counters struct{ theirs, ours map[string]string }

func (c counters) check(t *testing.T, theirs, ours map[string]string, text string) {
	for limit, name := range theirs {
		a, b := limit+name, limit+ours[limit]
		if strings.Contains(a, "path_") {
			continue // counted by the route, and recorded
		}
		if known, ok := c.theirs[a]; ok && known != b {
			t.Fatalf("one counter of the service, %s, is two here, %s and %s, of:\n%s", a, known, b, text)
		}
		if known, ok := c.ours[b]; ok && known != a {
			t.Fatalf("one counter here, %s, is two of the service, %s and %s, of:\n%s", b, known, a, text)
		}
		c.theirs[a], c.ours[b] = b, a
	}
}

func parseSources(t *testing.T, pairs ...string) Sources {
	t.Helper()
	s, err := ParseSources(pairs)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

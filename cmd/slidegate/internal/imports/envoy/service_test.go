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

func TestParseSources(t *testing.T) {
	for _, tt := range []struct{ pair, want string }{
		{"user", "write KEY=SOURCE"},
		{"=jwt.sub", "write KEY=SOURCE"},
		{"user=", "write KEY=SOURCE"},
		{"user=jwt", "{jwt} needs a name"},
		{"user=cookie.x", "unknown source {cookie.x}"},
		{"user=ip.v4", "takes no name"},
		{"user=jwt.a|b", `{jwt.a|b} is not one source, because no source has "|" in it`},
		{"user=jwt./realm/a.b", ""},
		{"user=any:x", "any takes no value"},
		{"user=path:/x", "write a value on both sides or on neither"},
		{"user:kim=path", "write a value on both sides or on neither"},
		{"user:kim=any", ""},
		{":path=path", ""},
		{":path:/a=path:/b", ""},
		{"x=header.x-y", ""},
		{"x=jwt./realm_access/roles", ""},
	} {
		_, err := ParseSources([]string{tt.pair})
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), fmt.Sprintf("%q: ", tt.pair))) {
			t.Errorf("%s: got %v, want %s", tt.pair, err, tt.want)
		}
	}
	if _, err := ParseSources([]string{"a=ip", "a=ip", "b"}); err == nil || len(strings.Split(err.Error(), "\n")) != 2 {
		t.Errorf("got %v, want two errors", err)
	}
}

func TestConventionalSources(t *testing.T) {
	got := map[string]string{}
	for _, key := range []string{"remote_address", "REMOTE_ADDRESS", "masked_remote_address", "path", ":path", "PATH", "method", ":method",
		"http_method", "x-user", "X-User", "x-api-key", "x-", "x-a b", "user", "generic_key", "header_match"} {
		got[key], _ = conventional(key)
	}
	want := map[string]string{"remote_address": "ip", "REMOTE_ADDRESS": "ip", "masked_remote_address": "ip", "path": "path", ":path": "path",
		"PATH": "path", "method": "method", ":method": "method", "http_method": "method", "x-user": "header.x-user", "X-User": "header.x-user",
		"x-api-key": "", "x-": "", "x-a b": "", "user": "", "generic_key": "", "header_match": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// requestKeys are the keys of random files, and their sources.
var requestKeys = []struct {
	key, source string
	configured  []string // values in files
	sent        []string // values in requests
}{
	{"tenant", "jwt.tenant", []string{"a", "b", "c"}, []string{"a", "b", "c", "d"}},
	{"user", "jwt.sub", []string{"kim", "lee"}, []string{"kim", "lee", "sam"}},
	{"plan", "jwt.plan", []string{"pro", "free"}, []string{"pro", "free", "team"}},
	{"method", "method", []string{"GET", "POST"}, []string{"GET", "POST", "PUT"}},
	{"remote_address", "ip", []string{"198.51.100.1", "198.51.100.2"}, []string{"198.51.100.1", "198.51.100.2", "198.51.100.3"}},
	{"path", "path", []string{"/x", "/x/y", "/z"}, []string{"/x", "/x/y", "/z", "/w"}},
}

// randomFile returns a descriptor file that rules can express.
func randomFile(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("domain: d\ndescriptors:\n")
	randomList(r, &b, "  ", 0, r.IntN(3) == 0)
	return b.String()
}

func randomList(r *rand.Rand, b *strings.Builder, indent string, depth int, paths bool) {
	seen := map[string]bool{}
	for range 1 + r.IntN(5-depth) {
		kind := r.IntN(len(requestKeys))
		w := requestKeys[kind]
		value := ""
		if r.IntN(3) > 0 {
			value = w.configured[r.IntN(len(w.configured))]
		}
		if w.key == "path" && !paths || seen[w.key+value] {
			continue
		}
		seen[w.key+value] = true
		fmt.Fprintf(b, "%s- key: %s\n", indent, w.key)
		if value != "" {
			fmt.Fprintf(b, "%s  value: %q\n", indent, value)
		}
		switch r.IntN(8) {
		case 0:
			fmt.Fprintf(b, "%s  rate_limit: {unlimited: true}\n", indent)
		case 1:
		default:
			fmt.Fprintf(b, "%s  rate_limit: {unit: %s, requests_per_unit: %d}\n", indent, []string{"second", "minute"}[r.IntN(2)], r.IntN(30))
			if r.IntN(4) == 0 {
				fmt.Fprintf(b, "%s  shadow_mode: true\n", indent)
			}
		}
		if depth < 2 && r.IntN(3) == 0 {
			fmt.Fprintf(b, "%s  descriptors:\n", indent)
			randomList(r, b, indent+"    ", depth+1, paths)
		}
	}
	if len(seen) == 0 {
		fmt.Fprintf(b, "%s- {key: tenant, rate_limit: {unit: hour, requests_per_unit: 7}}\n", indent)
	}
}

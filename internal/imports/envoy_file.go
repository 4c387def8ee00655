package imports

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// descriptor is an entry of a descriptor list, as src/config/config_impl.go of envoyproxy/ratelimit reads it.
type descriptor struct {
	spot
	key, value string
	limit      *envoyLimit // nil for none
	shadow     bool
	shared     bool // all that match a wildcard share a counter
	children   []*descriptor
}

type envoyLimit struct {
	unlimited bool
	requests  int64
	window    string
	name      string
	replaces  []string
}

// String returns the descriptor as people write it, "key=value".
func (d *descriptor) String() string {
	if d.value == "" {
		return show(d.key)
	}
	return show(d.key) + "=" + show(d.value)
}

// envoyFile reads descriptor files, one after the other.
type envoyFile struct {
	*tree
	*losses
	domain map[string]map[string]bool // the descriptors at the top of each
}

// read returns the domain of a file and its descriptors. Several files may add to one domain, as they may where the service
// runs with MERGE_DOMAIN_CONFIG.
func (f *envoyFile) read(v value) (name string, all []*descriptor) {
	fields := f.fields(v, "domain", "descriptors")
	if name = f.text(fields["domain"]); name == "" {
		f.fail(v, "domain is missing: this is no descriptor file of envoyproxy/ratelimit")
	}
	if f.domain[name] == nil {
		f.domain[name] = map[string]bool{}
	}
	return name, f.descriptors(fields["descriptors"], f.domain[name])
}

func (f *envoyFile) descriptors(v value, seen map[string]bool) []*descriptor {
	var all []*descriptor
	for _, v := range f.list(v) {
		d := f.descriptor(v)
		if same := d.key + "_" + d.value; seen[same] {
			f.fail(v, "%s is there twice: remove one of them", d)
		} else {
			seen[same] = true
		}
		all = append(all, d)
	}
	return all
}

// ignored are the fields that limit nothing.
var ignored = []struct{ name, why string }{
	{"detailed_metric", "changes the names of metrics alone: every decision here names its rule and key"},
	{"value_to_metric", "changes the names of metrics alone: every decision here names its rule and key"},
	{"metadata", "is sent to the proxy, and nothing here reads it"},
}

func (f *envoyFile) descriptor(v value) *descriptor {
	fields := f.fields(v, "key", "value", "rate_limit", "descriptors", "shadow_mode", "quota_mode", "share_threshold",
		"detailed_metric", "value_to_metric", "metadata")
	d := &descriptor{
		spot: f.spot(v), key: f.text(fields["key"]), value: f.text(fields["value"]),
		shadow: f.flag(fields["shadow_mode"]), shared: f.flag(fields["share_threshold"]), limit: f.limit(fields["rate_limit"]),
	}
	if fields["key"].missing() {
		f.fail(v, "key is missing")
	}
	if d.shared && !strings.Contains(d.value, "*") {
		f.fail(fields["share_threshold"], "goes with a value that contains *")
	}
	if f.flag(fields["quota_mode"]) {
		d.shadow = true
		f.lose(d.spot, d.String()+": quota_mode", "the rule is in shadow mode, and nobody tells the proxy that the quota is used up")
	}
	for _, i := range ignored {
		if v := fields[i.name]; !v.missing() {
			f.lose(d.spot, d.String()+": "+i.name, i.why)
		}
	}
	d.children = f.descriptors(fields["descriptors"], map[string]bool{})
	return d
}

// units are what src/utils/utilities.go counts by: multiples of these lengths since the Unix epoch.
var units = map[string]time.Duration{
	"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour,
	"month": 30 * 24 * time.Hour, "year": 365 * 24 * time.Hour,
}

func (f *envoyFile) limit(v value) *envoyLimit {
	if v.missing() {
		return nil
	}
	fields := f.fields(v, "unit", "requests_per_unit", "unit_multiplier", "unlimited", "name", "replaces")
	l := &envoyLimit{
		unlimited: f.flag(fields["unlimited"]), name: f.text(fields["name"]),
		requests: f.whole(fields["requests_per_unit"], math.MaxUint32),
	}
	unit := f.text(fields["unit"])
	length, ok := units[strings.ToLower(unit)]
	switch {
	case l.unlimited && ok:
		f.fail(fields["unit"], "goes with no limit that is unlimited: remove one of them")
	case !l.unlimited && !ok:
		f.fail(v, "unit %q is none of second, minute, hour, day, week, month and year", short(unit))
	}
	l.window = f.window(fields["unit_multiplier"], length)
	for _, v := range f.list(fields["replaces"]) {
		name := f.text(f.fields(v, "name")["name"])
		if name == "" || name == l.name {
			f.fail(v, "must name another limit")
		}
		l.replaces = append(l.replaces, name)
	}
	return l
}

// window returns so many units as a rules document writes them.
func (f *envoyFile) window(multiplier value, unit time.Duration) string {
	n := time.Duration(1)
	if !multiplier.missing() {
		n = time.Duration(f.whole(multiplier, math.MaxUint32))
		if most := longestWindow / max(unit, time.Second); n == 0 || n > most {
			f.fail(multiplier, "must be a whole number from 1 to %d", most)
			return ""
		}
	}
	return windowOf(n * unit)
}

// longestWindow is the longest that a rules document takes.
const longestWindow = 3650 * 24 * time.Hour

// windowOf writes a length of whole seconds in the largest unit that it is a multiple of.
func windowOf(length time.Duration) string {
	for _, u := range []struct {
		name   string
		length time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}} {
		if length >= u.length && length%u.length == 0 {
			return fmt.Sprintf("%d%s", length/u.length, u.name)
		}
	}
	return fmt.Sprintf("%ds", length/time.Second)
}

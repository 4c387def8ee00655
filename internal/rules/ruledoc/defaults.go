package ruledoc

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"
)

// The defaults of fields whose default is always the same.
const (
	DefaultUnmatched = "allow"
	DefaultOnError   = "local"
	DefaultMode      = "enforce"
	DefaultInstances = 20
	DefaultAlgorithm = "sliding_window"
	DefaultStatus    = 429

	DefaultReservations = 100
	DefaultSettleWithin = 15 * time.Minute
)

// DenyAmbiguous is the value of ambiguous_paths that denies requests whose path
// servers may read in several ways. It is the default if anything in a document
// selects by path or route; nothing else needs a default.
const DenyAmbiguous = "deny"

const modeOff = "off"

// Algorithms whose limits have fields of their own.
const (
	fixedWindow = "fixed_window"
	tokenBucket = "token_bucket"
	leakyBucket = "leaky_bucket"
)

// WithDefaults returns a copy of a document that states the defaults of all values
// except costs, capacities and instances. Lists keep their order and length, so that a path
// into one document is a path into the other.
func WithDefaults(d *Document) *Document {
	d = copyOf(d)
	if d.Defaults == nil {
		d.Defaults = &Defaults{}
	}
	d.Defaults.OnError = cmp.Or(d.Defaults.OnError, DefaultOnError)
	d.Unmatched = cmp.Or(d.Unmatched, DefaultUnmatched)
	d.Authentication.setDefaults(d.Defaults.OnError)
	if c := d.ClientIP; c != nil {
		c.Header = strings.ToLower(c.Header)
		if c.Secret != nil {
			c.Secret.Header = strings.ToLower(c.Secret.Header)
		}
	}
	d.Denied = d.Denied.over(nil)
	ambiguous := "clean"
	complete := func(s *Selector, inForce bool) {
		if s == nil {
			return
		}
		for i, m := range s.Methods {
			s.Methods[i] = strings.ToUpper(m)
		}
		if inForce && len(s.Path)+len(s.Route) > 0 {
			ambiguous = DenyAmbiguous
		}
	}
	lists := slices.Concat(d.Deny, d.Skip) // copies, which share their lists of methods with the document
	if a := d.Authentication; a != nil && a.Required != nil {
		lists = append(lists, a.Required.Some...)
	}
	for i := range lists {
		complete(&lists[i], true)
	}
	for i := range d.Rules {
		r := &d.Rules[i]
		r.OnError = cmp.Or(r.OnError, d.Defaults.OnError)
		r.Mode = cmp.Or(r.Mode, DefaultMode)
		r.Denied = r.Denied.over(d.Denied)
		complete(r.When, r.Mode != modeOff)
		complete(r.Unless, r.Mode != modeOff)
		if r.Limit != nil {
			r.Limit.setDefaults()
		}
		limitDefaults(r.Limits)
	}
	d.AmbiguousPaths = cmp.Or(d.AmbiguousPaths, ambiguous)
	for _, overrides := range d.Overrides {
		for _, o := range overrides {
			limitDefaults(o.Limits)
		}
	}
	return d
}

// over returns the whole answer of a rule, by that of the document, or that of the
// document, by nil. An answer that changes nothing is nil. An empty one is a mistake,
// and stays empty.
func (d *Denied) over(document *Denied) *Denied {
	if d == nil || *d == (Denied{}) {
		return d
	}
	by := cmp.Or(document, &Denied{Status: DefaultStatus})
	whole := Denied{
		cmp.Or(d.Status, by.Status, DefaultStatus), cmp.Or(d.Type, by.Type), cmp.Or(d.Title, by.Title), cmp.Or(d.Detail, by.Detail),
		cmp.Or(d.ContentType, by.ContentType), cmp.Or(d.Body, by.Body),
	}
	if whole == *by {
		return nil
	}
	return &whole
}

// SetDefaults sets defaults for rules, where the document states none itself.
func (d *Document) SetDefaults(of Defaults) {
	own := Defaults{}
	if d.Defaults != nil {
		own = *d.Defaults
	}
	d.Defaults = &Defaults{OnError: cmp.Or(own.OnError, of.OnError), Instances: cmp.Or(own.Instances, of.Instances)}
}

// OverrideWithDefaults does for one override what WithDefaults does for those
// of a document.
func OverrideWithDefaults(o *Override) *Override {
	o = copyOf(o)
	limitDefaults(o.Limits)
	return o
}

// limitDefaults fills in the limits of a list. Several limits have names: that of
// the window by default.
func limitDefaults(limits []Limit) {
	for i := range limits {
		l := &limits[i]
		if len(limits) > 1 {
			if l.IsInFlight() {
				l.Name = cmp.Or(l.Name, InFlightName)
			}
			l.Name = cmp.Or(l.Name, LimitName(l.Window))
		}
		l.setDefaults()
	}
}

// InFlightName is the name of a limit in flight that states none beside others.
const InFlightName = "in-flight"

// IsInFlight reports whether the limit, right or wrong, is one in flight.
func (l *Limit) IsInFlight() bool { return l.InFlight != 0 || l.Expires != "" }

// setDefaults fills in the fields that the limit's algorithm has.
func (l *Limit) setDefaults() {
	if l.IsInFlight() {
		return
	}
	if l.Algorithm == "" {
		l.Algorithm = DefaultAlgorithm
		if isCalendarOnly(l.Window) || l.Window == "1d" && l.Timezone != "" { // only a fixed window can have those
			l.Algorithm = fixedWindow
		}
	}
	switch l.Algorithm {
	case DefaultAlgorithm:
		if window, ok := ParseDuration(l.Window); ok && l.Granularity == "" {
			if g := DefaultGranularity(window); g != 0 {
				l.Granularity = FormatDuration(g)
			}
		}
	case fixedWindow:
		if isCalendarOnly(l.Window) {
			l.Timezone = cmp.Or(l.Timezone, "UTC")
		}
	case tokenBucket:
		l.Burst = cmp.Or(l.Burst, l.Capacity)
	case leakyBucket:
		l.Queue = cmp.Or(l.Queue, l.Capacity)
	}
	if l.Anchor != nil && l.Anchor.From != "" {
		l.Anchor.Day = cmp.Or(l.Anchor.Day, 1)
	}
}

// isCalendarOnly reports whether no plain length of time stands for a window.
func isCalendarOnly(window string) bool { return window == "1w" || window == "1mo" }

// copyOf returns a copy that shares no memory with the original.
func copyOf[T any](v *T) *T {
	return deepCopy(reflect.ValueOf(v)).Interface().(*T)
}

func deepCopy(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v) // for unexported fields, such as those of time.Time
	switch kind := v.Kind(); {
	case kind == reflect.Struct:
		for i := range v.NumField() {
			if field := out.Field(i); field.CanSet() {
				field.Set(deepCopy(v.Field(i)))
			}
		}
	case kind == reflect.Pointer && !v.IsNil():
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(deepCopy(v.Elem()))
	case kind == reflect.Slice && !v.IsNil():
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(deepCopy(v.Index(i)))
		}
	case kind == reflect.Map && !v.IsNil():
		out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for key, value := range v.Seq2() {
			out.SetMapIndex(key, deepCopy(value))
		}
	}
	return out
}

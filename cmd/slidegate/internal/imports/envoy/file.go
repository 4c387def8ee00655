package envoy

import (
	"fmt"
	"strings"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// file is a descriptor file as src/config/config_impl.go of
// envoyproxy/ratelimit reads it.
type file struct {
	Domain      string       `json:"domain"`
	Descriptors []descriptor `json:"descriptors"`
}

type descriptor struct {
	Key             string       `json:"key"`
	Value           string       `json:"value"`
	Limit           *rateLimit   `json:"rate_limit"`
	Children        []descriptor `json:"descriptors"`
	ShadowMode      bool         `json:"shadow_mode"`
	QuotaMode       bool         `json:"quota_mode" lost:"the rule is in shadow mode, and the proxy does not learn that the quota is used up"`
	SharedThreshold bool         `json:"share_threshold"` // all values that match a star share a counter
	DetailedMetric  bool         `json:"detailed_metric" lost:"changes only the names of metrics: every decision here names its rule and key"`
	ValueToMetric   bool         `json:"value_to_metric" lost:"changes only the names of metrics: every decision here names its rule and key"`
	Metadata        any          `json:"metadata" lost:"is for the proxy, and nothing here reads it"`

	place imports.Place
}

type rateLimit struct {
	Unit       string `json:"unit"`
	Requests   int64  `json:"requests_per_unit" range:"0 4294967295"`
	Multiplier *int64 `json:"unit_multiplier"`
	Unlimited  bool   `json:"unlimited"`
	Name       string `json:"name"`
	Replaces   any    `json:"replaces" lost:"no rule replaces another: requests that both are for count against both"`

	window string // as rules documents have it
}

// String returns the descriptor for messages, "key=value" or "key".
func (d *descriptor) String() string {
	if d.Value == "" {
		return imports.Show(d.Key)
	}
	return imports.Show(d.Key) + "=" + imports.Show(d.Value)
}

// checkList checks a list of descriptors as the service does, and fills in
// places and windows. ids has the descriptors of earlier files for the same
// list.
func checkList(s *imports.Source, prefix string, list []descriptor, ids map[string]bool) {
	for i := range list {
		d, path := &list[i], fmt.Sprintf("%sdescriptors[%d]", prefix, i)
		d.check(s, path)
		id := d.Key + "_" + d.Value
		if ids[id] {
			s.Fail(path, "%s is there twice: remove one of them", d)
		}
		ids[id] = true
		checkList(s, path+".", d.Children, map[string]bool{})
	}
}

func (d *descriptor) check(s *imports.Source, path string) {
	d.place = s.Place(path)
	if d.Key == "" {
		s.Fail(path+".key", "is missing: write the key of the descriptor's entries")
	}
	if d.SharedThreshold && !strings.Contains(d.Value, "*") {
		s.Fail(path+".share_threshold", "needs a value that contains *")
	}
	if d.Limit != nil {
		d.Limit.check(s, path+".rate_limit")
		s.RecordUnused(path+".rate_limit", d.String(), *d.Limit)
	}
	d.ShadowMode = d.ShadowMode || d.QuotaMode
	s.RecordUnused(path, d.String(), *d)
}

// units are those of src/utils/utilities.go: windows are multiples of these
// lengths since the Unix epoch.
var units = map[string]time.Duration{
	"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour,
	"month": 30 * 24 * time.Hour, "year": 365 * 24 * time.Hour,
}

func (l *rateLimit) check(s *imports.Source, path string) {
	unit, known := units[strings.ToLower(l.Unit)]
	switch {
	case l.Unlimited && known:
		s.Fail(path+".unit", "contradicts unlimited: remove one of them")
	case !l.Unlimited && !known:
		s.Fail(path, "unit %q is none of second, minute, hour, day, week, month and year", imports.Short(l.Unit))
	}
	multiplier := time.Duration(1)
	if l.Multiplier != nil {
		multiplier = time.Duration(*l.Multiplier)
	}
	if most := ruledoc.MaxWindow / max(unit, time.Second); multiplier < 1 || multiplier > most {
		s.Fail(path+".unit_multiplier", "must be a whole number from 1 to %d", most)
		return
	}
	l.window = ruledoc.FormatDuration(multiplier * unit)
}

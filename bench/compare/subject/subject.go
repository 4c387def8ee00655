// Package subject has the limiters that the bench compares, each used as its
// documentation says, and the bare operations that they are compared with.
package subject

import (
	"runtime/debug"
	"strings"
)

// Names of subjects that targets and charts refer to.
const (
	Bare      = "bare"
	Slidegate = "Slidegate"
	TwoCounts = "two counters"
	Fixed     = "fixed window"
	Swapped   = "token bucket, swapped"
	Sharded   = "sharded maps"
)

// About is what a subject is, and what it promises.
type About struct {
	Name      string `json:"name"`
	Module    string `json:"module"` // "" for code of this comparison
	Algorithm string `json:"algorithm"`
	Promise   string `json:"promise"`
}

const (
	exact  = "never above the capacity in any window"
	twice  = "up to twice the capacity around an edge of windows"
	almost = "just under twice the capacity"
	bucket = "the burst and the refill of a window: up to twice the capacity"
)

// Subjects lists all, in the order of the tables.
var Subjects = []About{
	{Slidegate, "github.com/slidegate/slidegate", "sliding window of 60 slots", exact},
	{"go-limiter", "github.com/sethvargo/go-limiter", "fixed window from a key's first request", twice},
	{"throttled", "github.com/throttled/throttled/v2", "token bucket (GCRA)", bucket},
	{"ulule/limiter", "github.com/ulule/limiter/v3", "fixed window from a key's first request", twice},
	{"httprate", "github.com/go-chi/httprate", "two windows, the older weighted", almost},
	{"x/time/rate", "golang.org/x/time", "token bucket; a map and a mutex for its keys", bucket},
	{"redis_rate", "github.com/go-redis/redis_rate/v10", "token bucket (GCRA)", bucket},
	{TwoCounts, "", "two windows, the older weighted: one call adds to the newer, one reads the older", almost + "; more, as requests between the two calls are not seen; denied requests count"},
	{Fixed, "", "fixed window: one call adds to it; a full window is remembered, and denies without a call", twice},
	{Swapped, "", "token bucket: one call reads it, one writes it if it is still the same, and otherwise the request fails", bucket},
}

// Version returns the version of a module that this program was built with, or
// "" for this repository's own code.
func Version(module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, d := range info.Deps {
		if d.Path == module && d.Replace == nil {
			return strings.TrimSuffix(d.Version, "+incompatible")
		}
	}
	return ""
}

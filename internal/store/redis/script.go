package redis

import (
	"embed"
	"slices"
	"sync/atomic"

	goredis "github.com/redis/go-redis/v9"

	"github.com/slidegate/slidegate/internal/limit"
)

// kind is how the script counts a limit.
type kind uint8

const (
	slots kind = iota // sliding and fixed windows
	weighted
	calendar
	log
	bucket
	inFlight // and holds of charges of any limit
	allKinds // how many there are
)

// letters name the kinds in the script's arguments, in the order of the
// constants: the kind weighted is "w".
const letters = "swclbf"

func kindOf(l *limit.Limit) kind {
	switch {
	case l.Bucket():
		return bucket
	case l.Algorithm == limit.InFlight:
		return inFlight
	case l.Algorithm == limit.SlidingWindowLog:
		return log
	case l.Calendar != nil:
		return calendar
	case l.Algorithm == limit.SlidingWindowCounter:
		return weighted
	}
	return slots
}

// kinds is a set of kinds, one bit for each.
type kinds uint8

func (k kinds) any(of ...kind) bool {
	return slices.ContainsFunc(of, func(one kind) bool { return k&(1<<one) != 0 })
}

//go:embed lua
var parts embed.FS

// script is Lua source that Redis knows by its SHA-1 hash.
type script struct{ source, hash string }

var scripts [1 << allKinds]atomic.Pointer[script]

// scriptOf returns the script for limits of these kinds. Redis makes all functions
// of a script anew in each call, so a script has only those that its kinds need.
// Most calls share one script, because most limits are sliding windows.
func scriptOf(k kinds) *script {
	if s := scripts[k].Load(); s != nil {
		return s
	}
	source := ""
	for _, part := range []struct {
		name   string
		needed bool
	}{
		{"head", true},
		{"one", k == 1<<slots},
		{"kinds", true},
		{"window", k.any(slots, weighted, calendar, log)},
		{"slots", k.any(slots, weighted)},
		{"weighted", k.any(weighted)},
		{"calendar", k.any(calendar)},
		{"log", k.any(log)},
		{"bucket", k.any(bucket)},
		{"holds", k.any(inFlight)},
		{"settle", true},
		{"tail", true},
	} {
		if part.needed {
			lua, err := parts.ReadFile("lua/" + part.name + ".lua")
			if err != nil {
				panic(err) // the file is not part of the package
			}
			source += string(lua)
		}
	}
	s := &script{source, goredis.NewScript(source).Hash()}
	scripts[k].Store(s)
	return s
}

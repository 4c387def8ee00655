package measure

import (
	"context"
	"runtime"
	"time"
)

// Bytes returns how much memory a subject takes for each of n keys that have
// sent one request, at 100 a minute. The text of the keys does not count, unless
// the subject copies it.
func Bytes(ctx context.Context, s *Subject, n int) (float64, error) {
	names := keys("user:", n, true)
	before := heap()
	l, err := s.Open(ctx, Limit{Capacity: 100, Window: time.Minute, Slots: 60})
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if _, err := l.Decide(ctx, name); err != nil {
			return 0, err
		}
	}
	used := float64(heap()-before) / float64(n)
	if l.Close != nil {
		l.Close()
	}
	runtime.KeepAlive(names)
	runtime.KeepAlive(l)
	return used, nil
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // the first may have to finish what an earlier one began
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

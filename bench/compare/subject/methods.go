package subject

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/slidegate/slidegate/bench/compare/measure"
)

// fixed limits by windows that start at multiples of their length. It adds to
// the number of the window, and remembers for which window a key is full.
func fixed(l measure.Limit, add func(ctx context.Context, key string) (int64, error)) measure.Decide {
	var mu sync.Mutex
	full := map[string]int64{}
	return func(ctx context.Context, key string) (bool, error) {
		window := time.Now().UnixNano() / int64(l.Window)
		mu.Lock()
		denied := full[key] == window
		mu.Unlock()
		if denied {
			return false, nil
		}
		n, err := add(ctx, inWindow(key, window))
		if err != nil || n <= l.Capacity {
			return err == nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		full[key] = window
		return false, nil
	}
}

// twoCounts limits by the numbers of two windows, the older one weighted by how
// much of it a window that ends now still covers.
func twoCounts(l measure.Limit, both func(ctx context.Context, newer, older string) (n, before int64, err error)) measure.Decide {
	return func(ctx context.Context, key string) (bool, error) {
		now := time.Now().UnixNano()
		window := now / int64(l.Window)
		n, before, err := both(ctx, inWindow(key, window), inWindow(key, window-1))
		if err != nil {
			return false, err
		}
		covered := 1 - float64(now%int64(l.Window))/float64(l.Window)
		return float64(before)*covered+float64(n) <= float64(l.Capacity), nil
	}
}

func inWindow(key string, window int64) string { return key + ":" + strconv.FormatInt(window, 10) }

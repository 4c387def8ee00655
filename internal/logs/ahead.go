package logs

import (
	"context"
	"iter"
)

// ahead yields what seq yields. seq runs in a goroutine of its own, up to n
// values ahead, and has ended when ahead ends. If the context ends first, an
// error is the last, as of any seq.
func ahead[T any](ctx context.Context, n int, seq func(context.Context) iter.Seq2[T, error]) iter.Seq2[T, error] {
	type result struct {
		value T
		err   error
	}
	return func(yield func(T, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		results, whole := make(chan result, n), false
		go func() {
			defer close(results)
			for value, err := range seq(ctx) {
				select {
				case results <- result{value, err}:
				case <-ctx.Done():
					return
				}
			}
			whole = true
		}()
		defer func() {
			cancel()
			for range results { // until the goroutine has ended
			}
		}()
		for r := range results {
			if !yield(r.value, r.err) {
				return
			}
		}
		if !whole {
			var none T
			yield(none, ctx.Err())
		}
	}
}

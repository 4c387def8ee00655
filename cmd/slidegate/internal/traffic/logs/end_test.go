package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
)

// A replay that ends early leaves no goroutine behind: synctest fails if one
// stays.
func TestNoGoroutineStays(t *testing.T) {
	log := disordered(1500, 100)
	for _, order := range []Order{ByTime, AsLogged} {
		for _, end := range []int{1, 300, 1200} {
			for _, want := range []error{errDown, context.Canceled, io.ErrUnexpectedEOF} {
				t.Run(fmt.Sprint(order, end, want), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						ctx, cancel := context.WithCancel(t.Context())
						decided := 0
						decide := func(*Entry) error {
							decided++
							switch {
							case decided == end && errors.Is(want, errDown):
								return errDown
							case decided == end && errors.Is(want, context.Canceled):
								cancel()
							}
							return nil
						}
						logs := []Log{text(log)}
						if errors.Is(want, io.ErrUnexpectedEOF) {
							logs = append(logs, text(gzipped(t, log)[:1000]))
						}
						_, err := read(ctx, &Traffic{Logs: logs, Order: order, buffer: 1 << 14}, decide)
						if !errors.Is(err, want) {
							t.Errorf("error %v, want %v", err, want)
						}
					})
				})
			}
		}
	}
}

// Each line of a log that does not end is decided when it is written.
func TestDecidedAsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		var seen []string
		go func() {
			for i := range 3 {
				line := requests(fmt.Sprint(i, " /"))
				_, _ = io.WriteString(out, line[:9])
				synctest.Wait()
				if len(seen) != i {
					t.Errorf("%d requests decided before line %d is whole", len(seen), i+1)
				}
				_, _ = io.WriteString(out, line[9:])
				synctest.Wait()
				if len(seen) != i+1 {
					t.Errorf("%d requests decided after line %d", len(seen), i+1)
				}
			}
			_ = out.Close()
		}()
		if _, err := read(t.Context(), &Traffic{Logs: []Log{Stream("pipe", in, JSONL)}, Order: AsLogged}, keep(&seen)); err != nil {
			t.Error(err)
		}
	})
}

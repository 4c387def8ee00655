package ruletable_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// recording keeps the last answer of a table.
type recording struct {
	ruletable.API
	last *dynamodb.GetItemOutput
}

func (r *recording) GetItem(ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options)) (out *dynamodb.GetItemOutput, err error) {
	r.last, err = r.API.GetItem(ctx, in, opts...)
	return r.last, err
}

// badNetwork answers reads with an item. Each letter of faults is for one read, and
// they come round again: f fails it, h lets it hang, and any other answers it.
type badNetwork struct {
	ruletable.API
	pointer atomic.Pointer[dynamodb.GetItemOutput]
	faults  string
	start   time.Time

	mu    sync.Mutex
	times []string // of the reads, in seconds
}

func (b *badNetwork) GetItem(ctx context.Context, _ *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	b.mu.Lock()
	fault := b.faults[len(b.times)%len(b.faults)]
	b.times = append(b.times, fmt.Sprintf("%.0f", time.Since(b.start).Seconds()))
	b.mu.Unlock()
	switch fault {
	case 'f':
		return nil, errors.New("no answer")
	case 'h':
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return b.pointer.Load(), nil
}

// TestNewRulesOnABadNetwork: rules that are published just after a read are in
// force within ten seconds, although reads of a bad network fail. An outage is no
// flood of reads.
func TestNewRulesOnABadNetwork(t *testing.T) {
	client, name := newTable(t)
	var pointers []*dynamodb.GetItemOutput
	for n := range 2 {
		publish(t, ruletable.New(client, name), version(n+1))
		api := &recording{API: client}
		source, _ := newSource(api, name, nil)
		capacity(t, source, epoch, int64(n+1))
		pointers = append(pointers, api.last)
	}
	for _, tc := range []struct {
		name, faults string // of the reads, the first of which is the start's
		reads        string // in 40 s
		inForce      int    // after so many seconds; -1 for never
	}{
		{"good", ".", "0 5 10 15 20 25 30 35", 5},
		{"every second read fails", ".f", "0 5 6 11 12 17 18 23 24 29 30 35 36", 6},
		{"two fail", ".ff", "0 5 6 8 13 14 16 21 22 24 29 30 32 37 38", 8},
		{"one hangs", ".h......", "0 5 8 13 18 23 28 33 38", 8},
		{"three fail", ".fff....", "0 5 6 8 12 17 22 27 32 37 38", 12},
		{"an outage", "." + strings.Repeat("f", 99), "0 5 6 8 12 17 22 27 32 37", -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				api := &badNetwork{faults: tc.faults, start: time.Now()}
				api.pointer.Store(pointers[0])
				source, _ := newSource(api, name, nil)
				inForce := -1
				for time.Since(api.start) < 40*time.Second {
					set, err := source.Rules(t.Context(), epoch.Add(time.Since(api.start)))
					if err != nil {
						t.Fatal(err)
					}
					if inForce < 0 && set.Rules[0].Limits[0].Capacity == 2 {
						inForce = int(time.Since(api.start).Seconds())
					}
					api.pointer.Store(pointers[1])
					time.Sleep(100 * time.Millisecond)
				}
				time.Sleep(10 * time.Second) // the last read ends
				api.mu.Lock()
				defer api.mu.Unlock()
				if got := strings.Join(api.times, " "); got != tc.reads || inForce != tc.inForce {
					t.Errorf("in force after %d s, reads at %s; want %d and %s", inForce, got, tc.inForce, tc.reads)
				}
			})
		})
	}
}

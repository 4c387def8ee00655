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

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/dynamo"
)

// capacity calls the source, and expects the capacity, at the latest once the
// refresh that the call started has ended.
func capacity(t *testing.T, source *ruletable.Source, now time.Time, want int64) {
	t.Helper()
	var got int64
	for _, rulesOf := range []func(context.Context, time.Time) (*rules.Set, error){source.Rules, source.Refreshed} {
		set, err := rulesOf(context.Background(), now)
		if err != nil {
			t.Fatal(err)
		}
		if got = set.Rules[0].Limits[0].Capacity; got == want {
			return
		}
	}
	t.Fatalf("capacity %d, want %d", got, want)
}

func TestSource(t *testing.T) {
	client, name := newTable(t)
	api, ctx := &counting{API: client}, context.Background()
	reports := make(chan error, 100)
	source := ruletable.NewSource(ruletable.New(api, name), ruletable.SourceOptions{Report: func(err error) { reports <- err }})
	if _, err := source.Rules(ctx, epoch); !errors.Is(err, ruletable.ErrNone) {
		t.Fatalf("error %v, want ErrNone", err)
	}
	publisher := ruletable.New(client, name)
	publish(t, publisher, version(1))
	capacity(t, source, epoch, 1)
	reads := api.count("GetItem")
	for i := range 1000 { // requests side by side pass different times
		capacity(t, source, epoch.Add(4*time.Second-time.Duration(i%5)*time.Second), 1)
	}
	if n := api.count("GetItem") - reads; n != 0 {
		t.Errorf("%d reads within five seconds", n)
	}

	publish(t, publisher, version(2))
	capacity(t, source, epoch.Add(10*time.Second), 2)

	publish(t, publisher, ruletable.Version{Text: []byte("rules: [{}]"), Document: invalid})
	capacity(t, source, epoch.Add(20*time.Second), 2)
	if err := <-reports; !strings.Contains(err.Error(), "version 3") {
		t.Errorf("reported %v: want the invalid version named", err)
	}

	api.fail(errors.New("no answer"))
	capacity(t, source, epoch.Add(30*time.Second), 2)
	if at := source.Confirmed(); !at.Equal(epoch.Add(10 * time.Second)) {
		t.Errorf("the rules were confirmed %s after the start, want the latest read that worked", at.Sub(epoch))
	}
	if err := <-reports; !strings.Contains(err.Error(), "no answer") || !strings.Contains(err.Error(), "keeping version 2") {
		t.Errorf("reported %v", err)
	}
	api.fail(nil)
	publish(t, publisher, version(4))
	capacity(t, source, epoch.Add(40*time.Second), 4)
	must(t, publisher.Rollback(ctx, 4, 1, note(0, "")))
	capacity(t, source, epoch.Add(50*time.Second), 1)
	publish(t, publisher, version(5))
	capacity(t, source, epoch.Add(-time.Hour), 5) // the clock was set back

	if n := api.count("Query"); n != 0 {
		t.Errorf("%d queries on the path of requests", n)
	}
}

// TestFallback: the source starts with the copy of the rules, and replaces it
// by the table's rules after the first successful read.
func TestFallback(t *testing.T) {
	fallback, err := ruletable.Compile("copy", document(99))
	must(t, err)
	for what, broken := range map[string]func(api *counting, publisher *ruletable.Table){
		"unreachable": func(api *counting, publisher *ruletable.Table) {
			publish(t, publisher, version(1))
			api.fail(errors.New("no answer"))
		},
		"empty": func(*counting, *ruletable.Table) {},
		"invalid": func(_ *counting, publisher *ruletable.Table) {
			publish(t, publisher, ruletable.Version{Text: []byte("rules: [{}]"), Document: invalid})
		},
	} {
		t.Run(what, func(t *testing.T) {
			client, name := newTable(t)
			api, publisher := &counting{API: client}, ruletable.New(client, name)
			broken(api, publisher)
			reports := make(chan error, 100)
			source := ruletable.NewSource(ruletable.New(api, name), ruletable.SourceOptions{Report: func(err error) { reports <- err }, Fallback: fallback})
			capacity(t, source, epoch, 99)
			if err := <-reports; !strings.Contains(err.Error(), "copy from the deployment") {
				t.Errorf("reported %v", err)
			}
			reads := api.count("GetItem")
			capacity(t, source, epoch.Add(4*time.Second), 99)
			if n := api.count("GetItem") - reads; n != 0 {
				t.Errorf("%d reads within five seconds", n)
			}
			capacity(t, source, epoch.Add(10*time.Second), 99)
			if err := <-reports; !strings.Contains(err.Error(), "keeping the copy from the deployment") {
				t.Errorf("reported %v", err)
			}
			api.fail(nil)
			publish(t, publisher, version(2))
			capacity(t, source, epoch.Add(20*time.Second), 2)
			api.fail(errors.New("no answer"))
			capacity(t, source, epoch.Add(30*time.Second), 2) // never back to the copy
		})
	}
}

// TestUnpublished: a table to which nothing was ever published allows every
// request, and says so once. Later failures keep what there is.
func TestUnpublished(t *testing.T) {
	client, name := newTable(t)
	api, ctx := &counting{API: client}, context.Background()
	reports := make(chan error, 100)
	source := ruletable.NewSource(ruletable.New(api, name), ruletable.SourceOptions{
		Report: func(err error) { reports <- err }, AllowUnpublished: true,
	})
	api.fail(errors.New("no answer"))
	if set, err := source.Rules(ctx, epoch); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Fatalf("unreadable: rules %v, error %v", set, err)
	}
	api.fail(nil)
	unpublished := func(at time.Duration) {
		t.Helper()
		set, err := source.Rules(ctx, epoch.Add(at))
		if err != nil || !set.Unpublished || len(set.Rules) != 0 || set.Unmatched != rules.Allow {
			t.Fatalf("rules %+v, error %v", set, err)
		}
	}
	unpublished(0)
	if err := <-reports; !errors.Is(err, ruletable.ErrNone) || !strings.Contains(err.Error(), "every request is allowed until rules are published") {
		t.Errorf("reported %v", err)
	}
	unpublished(10 * time.Second)
	unpublished(20 * time.Second)
	api.fail(errors.New("no answer"))
	unpublished(30 * time.Second)
	if err := <-reports; !strings.Contains(err.Error(), "keeping none: ") { // the only one since the first
		t.Errorf("reported %v", err)
	}
	api.fail(nil)
	publish(t, ruletable.New(client, name), version(1))
	capacity(t, source, epoch.Add(40*time.Second), 1)
}

// TestFallbackOfASilentTable: all requests together wait two seconds for a
// table that does not answer.
func TestFallbackOfASilentTable(t *testing.T) {
	fallback, err := ruletable.Compile("copy", document(99))
	must(t, err)
	bubble(t, func(t *testing.T) {
		source, reports := newSource(silent{}, "rules", fallback)
		start := time.Now()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if set, err := source.Rules(t.Context(), epoch); err != nil || set != fallback {
					t.Errorf("rules %v, error %v", set, err)
				}
			})
		}
		wg.Wait()
		if set, err := source.Rules(t.Context(), epoch); err != nil || set != fallback {
			t.Errorf("rules %v, error %v", set, err)
		}
		if took := time.Since(start); took != 2*time.Second || len(reports.take()) != 1 {
			t.Errorf("it took %v, or was not reported once", took)
		}
	})
}

// silent is a table that never answers.
type silent struct{ ruletable.API }

func (silent) GetItem(ctx context.Context, _ *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

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

func newSource(api ruletable.API, table string, fallback *rules.Set) (*ruletable.Source, *reported) {
	var r reported
	return ruletable.NewSource(ruletable.New(api, table), ruletable.SourceOptions{Report: r.add, Fallback: fallback}), &r
}

// TestStartOnASilentTable: without a fallback, each request fails after three
// seconds, well before a Lambda is killed.
func TestStartOnASilentTable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		source, _ := newSource(silent{}, "rules", nil)
		for range 3 {
			start := time.Now()
			_, err := source.Rules(t.Context(), epoch)
			if took := time.Since(start); !errors.Is(err, dynamo.ErrTimeout) || took != 3*time.Second {
				t.Errorf("error %v after %v, want ErrTimeout after 3 s", err, took)
			}
		}
	})
}

package ruletable_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// press is a table with GetItem alone. Its version n has the capacity n. It
// counts the calls, may fail, and may make them wait.
type press struct {
	ruletable.API // nil

	mu      sync.Mutex
	current int64
	reads   int
	err     error
	gate    chan struct{} // if not nil, calls wait until it is closed
}

func (p *press) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	p.mu.Lock()
	p.reads++
	gate := p.gate
	p.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if in.Key["s"].(*types.AttributeValueMemberS).Value == "current" {
		pointer := &types.AttributeValueMemberN{Value: strconv.FormatInt(p.current, 10)}
		return &dynamodb.GetItemOutput{Item: map[string]types.AttributeValue{"version": pointer}}, p.err
	}
	return &dynamodb.GetItemOutput{Item: map[string]types.AttributeValue{
		"document": zipped("a text that no limiter reads: ["),
		"json":     zipped(fmt.Sprintf(`{"rules": [{"name": "r", "key": "ip:{ip}", "limits": [{"capacity": %d, "window": "60s"}]}]}`, p.current)),
	}}, p.err
}

func zipped(text string) types.AttributeValue {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, text) // to a buffer
	_ = w.Close()
	return &types.AttributeValueMemberB{Value: out.Bytes()}
}

// set publishes a version, and makes calls fail, nil for not, and wait for a
// gate, nil for none.
func (p *press) set(current int64, err error, gate chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current, p.err, p.gate = current, err, gate
}

// taken returns the number of reads since its last call.
func (p *press) taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.reads
	p.reads = 0
	return n
}

func newSource(api ruletable.API, table string, fallback *rules.Set) (*ruletable.Source, *reported) {
	var r reported
	return ruletable.NewSource(ruletable.New(api, table), ruletable.SourceOptions{Report: r.add, Fallback: fallback}), &r
}

// capacityNow returns the capacity in force.
func capacityNow(ctx context.Context, source *ruletable.Source, now time.Time) (int64, error) {
	set, err := source.Rules(ctx, now)
	if err != nil {
		return 0, err
	}
	return set.Rules[0].Limits[0].Capacity, nil
}

// crowd sends a hundred requests at once, with slightly different times. The
// table answers when all of them wait.
func crowd(t *testing.T, source *ruletable.Source, gate chan struct{}, check func(capacity int64, err error)) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() { check(capacityNow(t.Context(), source, epoch.Add(time.Duration(i)*time.Millisecond))) })
	}
	synctest.Wait()
	close(gate)
	wg.Wait()
}

// TestFirstRulesAreReadOnce: all requests that wait for the first rules share
// one read, or its error. The next request reads again.
func TestFirstRulesAreReadOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		api, down := &press{}, errors.New("no answer")
		source, reports := newSource(api, "rules", nil)
		gate := make(chan struct{})
		api.set(1, down, gate)
		crowd(t, source, gate, func(_ int64, err error) {
			if !errors.Is(err, down) {
				t.Errorf("error %v, want the table's", err)
			}
		})
		if n := api.taken(); n != 1 {
			t.Errorf("%d reads of a table that fails, want 1", n)
		}
		gate = make(chan struct{})
		api.set(1, nil, gate)
		crowd(t, source, gate, func(capacity int64, err error) {
			if capacity != 1 || err != nil {
				t.Errorf("capacity %d, error %v", capacity, err)
			}
		})
		if n := api.taken(); n != 2 { // the pointer and the version
			t.Errorf("%d reads, want 2", n)
		}
		if errs := reports.take(); len(errs) != 0 {
			t.Errorf("reported %v, which requests got as their error", errs)
		}
	})
}

// TestGivingUpOnTheFirstRules: a request that cannot wait returns at once, with
// an error that names the table.
func TestGivingUpOnTheFirstRules(t *testing.T) {
	bubble(t, func(t *testing.T) {
		api, gate, hungUp := &press{}, make(chan struct{}), errors.New("the caller hung up")
		api.set(1, nil, gate)
		source, _ := newSource(api, "rules", nil)
		ctx, leave := context.WithCancelCause(t.Context())
		began := time.Now()
		time.AfterFunc(100*time.Millisecond, func() { leave(hungUp) })
		_, err := capacityNow(ctx, source, epoch)
		if !errors.Is(err, hungUp) || !strings.Contains(err.Error(), "table rules: waiting") || time.Since(began) != 100*time.Millisecond {
			t.Errorf("error %v after %v", err, time.Since(began))
		}
		close(gate)
		if got, err := capacityNow(t.Context(), source, epoch); got != 1 || err != nil {
			t.Errorf("capacity %d, error %v", got, err)
		}
		if n := api.taken(); n != 2 {
			t.Errorf("%d reads, want those of one load", n)
		}
		if got, err := capacityNow(ctx, source, epoch); got != 1 || err != nil {
			t.Errorf("capacity %d, error %v: fresh rules need no wait", got, err)
		}
	})
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

// TestSlowRefresh: the request that starts a refresh waits for 100 ms, all
// others not at all, and one refresh is in flight. The source takes its answer
// when it comes. A failed refresh is not repeated for ten seconds.
func TestSlowRefresh(t *testing.T) {
	bubble(t, func(t *testing.T) {
		api := &press{current: 1}
		source, reports := newSource(api, "rules", nil)
		expectRules := func(want int64, took time.Duration, reads int) {
			t.Helper()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel() // the refresh goes on
			start := time.Now()
			got, err := capacityNow(ctx, source, epoch.Add(time.Since(born)))
			if n := api.taken(); err != nil || got != want || time.Since(start) != took || n != reads {
				t.Errorf("capacity %d, error %v after %v and %d reads; want %d after %v and %d", got, err, time.Since(start), n, want, took, reads)
			}
		}
		expectRules(1, 0, 2)
		time.Sleep(10 * time.Second)
		expectRules(1, 0, 1) // the pointer alone: nothing is new

		time.Sleep(10 * time.Second)
		gate := make(chan struct{})
		api.set(2, nil, gate)
		expectRules(1, 100*time.Millisecond, 1)
		expectRules(1, 0, 0)
		close(gate)
		time.Sleep(time.Millisecond)
		expectRules(2, 0, 1) // the version, read meanwhile

		time.Sleep(10 * time.Second)
		api.set(3, nil, make(chan struct{})) // for good
		expectRules(2, 100*time.Millisecond, 1)
		time.Sleep(4 * time.Second)
		expectRules(2, 0, 0)
		time.Sleep(time.Second)
		if errs := reports.take(); len(errs) != 1 || !errors.Is(errs[0], dynamo.ErrTimeout) || !strings.Contains(errs[0].Error(), "keeping version 2") {
			t.Errorf("reported %v, want one ErrTimeout", errs)
		}
		api.set(2, nil, nil)
		expectRules(2, 0, 0) // no read for ten seconds
		time.Sleep(10 * time.Second)
		expectRules(2, 0, 1) // it still has that version
		time.Sleep(10 * time.Second)
		api.set(3, nil, nil)
		expectRules(3, 0, 2)
	})
}

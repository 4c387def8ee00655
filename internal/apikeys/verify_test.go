package apikeys_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/apikeys"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/ruletable"
)

var epoch = time.Unix(1_700_000_000, 0)

// after is a time so many seconds after the epoch.
func after(seconds float64) time.Time {
	return epoch.Add(time.Duration(seconds * float64(time.Second)))
}

// table is a table of keys that counts its reads.
type table struct {
	mu       sync.Mutex
	keys     map[string]*ruletable.APIKey
	err      error
	reads    int
	reported []error
}

func (x *table) read(_ context.Context, name string) (*ruletable.APIKey, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.reads++
	return x.keys[name], x.err
}

func (x *table) report(err error) { x.reported = append(x.reported, err) }

// newTable returns a table, a verifier, and a key in the table.
func newTable(change func(*ruletable.APIKey)) (*table, *apikeys.Verifier, apikeys.Key) {
	k := apikeys.New()
	stored := &ruletable.APIKey{Name: k.Name(), Hash: k.Hash(), ID: "acme", Plan: "pro", Claims: `{"tenant": 12345678901234567890}`, Revision: 1}
	if change != nil {
		change(stored)
	}
	x := &table{keys: map[string]*ruletable.APIKey{k.Name(): stored}}
	return x, apikeys.NewVerifier(x.read, x.report), k
}

// verdict is "valid", "invalid" or "unknown".
func verdict(t *testing.T, v *apikeys.Verifier, now time.Time, text string) string {
	t.Helper()
	caller, err := v.Verify(t.Context(), now, text)
	switch {
	case errors.Is(err, apikeys.ErrUnavailable):
		return "unknown"
	case err != nil:
		t.Fatal(err)
	case caller == nil:
		return "invalid"
	}
	return "valid"
}

func wantVerdict(t *testing.T, v *apikeys.Verifier, now time.Time, text, want string) {
	t.Helper()
	if got := verdict(t, v, now, text); got != want {
		t.Errorf("after %v the key is %s, want %s", now.Sub(epoch), got, want)
	}
}

func (x *table) wantReads(t *testing.T, want int) {
	t.Helper()
	if x.reads != want {
		t.Errorf("%d reads, want %d", x.reads, want)
	}
}

func TestVerify(t *testing.T) {
	x, v, k := newTable(nil)
	caller, err := v.Verify(t.Context(), epoch, k.Secret())
	want := &apikeys.Caller{ID: "acme", Claims: map[string]any{"plan": "pro", "tenant": json.Number("12345678901234567890")}}
	if diff := cmp.Diff(want, caller); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	for i := range 1000 {
		wantVerdict(t, v, after(float64(i)*0.0099), k.Secret(), "valid")
	}
	x.wantReads(t, 1)
	wantVerdict(t, v, after(10), k.Secret(), "valid")
	x.wantReads(t, 2)
}

// TestInvalid: the stored item of a key decides.
func TestInvalid(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*ruletable.APIKey)
		want   string
	}{
		"as created":                       {func(*ruletable.APIKey) {}, "valid"},
		"without claims":                   {func(k *ruletable.APIKey) { k.Claims, k.Plan = "", "" }, "valid"},
		"another hash":                     {func(k *ruletable.APIKey) { k.Hash = apikeys.New().Hash() }, "invalid"},
		"no hash":                          {func(k *ruletable.APIKey) { k.Hash = "" }, "invalid"},
		"the hash's start":                 {func(k *ruletable.APIKey) { k.Hash = k.Hash[:16] }, "invalid"},
		"revoked":                          {func(k *ruletable.APIKey) { k.Revoked = epoch }, "invalid"},
		"revoked by a clock that is ahead": {func(k *ruletable.APIKey) { k.Revoked = after(3600) }, "invalid"},
		"expired":                          {func(k *ruletable.APIKey) { k.Expires = epoch }, "invalid"},
		"expires soon":                     {func(k *ruletable.APIKey) { k.Expires = after(1) }, "valid"},
	} {
		_, v, k := newTable(test.change)
		if got := verdict(t, v, epoch, k.Secret()); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestExpiryIsExact: a key ends at its time, though it was read before.
func TestExpiryIsExact(t *testing.T) {
	x, v, k := newTable(func(k *ruletable.APIKey) { k.Expires = after(5) })
	wantVerdict(t, v, epoch, k.Secret(), "valid")
	wantVerdict(t, v, after(4.999), k.Secret(), "valid")
	wantVerdict(t, v, after(5), k.Secret(), "invalid")
	x.wantReads(t, 1)
}

// TestRevoked: no request is accepted ten seconds after a key was revoked,
// however long it was not used.
func TestRevoked(t *testing.T) {
	for _, idle := range []float64{0, 9.9, 3600} {
		x, v, k := newTable(nil)
		wantVerdict(t, v, epoch, k.Secret(), "valid")
		revoked := *x.keys[k.Name()]
		revoked.Revoked = after(idle)
		x.keys[k.Name()] = &revoked
		wantVerdict(t, v, after(idle+10), k.Secret(), "invalid")
		x.wantReads(t, 2)
	}
}

// TestCreated: a key that was tried before it was created is accepted after ten
// seconds.
func TestCreated(t *testing.T) {
	x, v, k := newTable(nil)
	stored := x.keys
	x.keys = nil
	wantVerdict(t, v, epoch, k.Secret(), "invalid")
	x.keys = stored
	wantVerdict(t, v, after(9.9), k.Secret(), "invalid")
	wantVerdict(t, v, after(10), k.Secret(), "valid")
	x.wantReads(t, 2)
}

// TestNoKeyIsNotRead: text that is no key costs nothing.
func TestNoKeyIsNotRead(t *testing.T) {
	x, v, k := newTable(nil)
	for i := range 10_000 {
		wantVerdict(t, v, after(float64(i)), fmt.Sprintf("%s_%026d", k.Name(), i), "invalid")
	}
	x.wantReads(t, 0)
}

// TestFlood: made-up keys of the right form cost a bounded number of reads.
// Known keys are accepted all the while, and new ones right after it.
func TestFlood(t *testing.T) {
	x, v, k := newTable(nil)
	wantVerdict(t, v, epoch, k.Secret(), "valid")
	const seconds, perSecond = 60, 1000
	unknown, valid := 0, 0
	for i := range seconds * perSecond {
		now := after(float64(i) / perSecond)
		if got := verdict(t, v, now, apikeys.New().Secret()); got == "unknown" {
			unknown++
		} else if got != "invalid" {
			t.Fatalf("a made-up key is %s", got)
		}
		if verdict(t, v, now, k.Secret()) == "valid" {
			valid++
		}
	}
	const most = 200 + 20*seconds + seconds/10 // and the known key's
	if x.reads > most || x.reads < most-5 || valid != seconds*perSecond {
		t.Errorf("%d reads, want %d; %d requests of the known key are accepted, want all %d", x.reads, most, valid, seconds*perSecond)
	}
	if made := unknown + 200 + 20*seconds; made < seconds*perSecond-5 || made > seconds*perSecond+25 {
		t.Errorf("%d made-up keys were not looked up", unknown)
	}
	other, stored := apikeys.New(), *x.keys[k.Name()]
	stored.Name, stored.Hash = other.Name(), other.Hash()
	x.keys[other.Name()] = &stored
	wantVerdict(t, v, after(seconds+1), other.Secret(), "valid")
}

// TestClockSetBack: neither what was read nor the budget lasts until the clock is
// there again.
func TestClockSetBack(t *testing.T) {
	x, v, k := newTable(nil)
	wantVerdict(t, v, after(7200), k.Secret(), "valid")
	for range 300 {
		verdict(t, v, after(7200), apikeys.New().Secret())
	}
	x.reads = 0
	wantVerdict(t, v, epoch, k.Secret(), "valid")
	wantVerdict(t, v, epoch, apikeys.New().Secret(), "unknown")
	wantVerdict(t, v, after(1), apikeys.New().Secret(), "invalid")
	x.wantReads(t, 2)
}

// TestManyKnownKeys: keys that exist are not taken for a flood, even if all are
// new to the process.
func TestManyKnownKeys(t *testing.T) {
	x, v, _ := newTable(nil)
	for range 5000 {
		k := apikeys.New()
		x.keys[k.Name()] = &ruletable.APIKey{Name: k.Name(), Hash: k.Hash(), ID: "acme", Revision: 1}
		wantVerdict(t, v, epoch, k.Secret(), "valid")
	}
}

// TestOutage: a key that was read stays valid for ten minutes without the table,
// at one read in ten seconds. Others cannot be verified.
func TestOutage(t *testing.T) {
	x, v, k := newTable(nil)
	wantVerdict(t, v, epoch, k.Secret(), "valid")
	x.err = errors.New("no answer")
	for i := range 599 {
		wantVerdict(t, v, after(float64(i+1)), k.Secret(), "valid")
	}
	x.wantReads(t, 60)
	if len(x.reported) != 59 {
		t.Errorf("%d failures are reported, want 59", len(x.reported))
	}
	_, err := v.Verify(t.Context(), after(599), apikeys.New().Secret())
	for _, err := range append(x.reported, err) {
		if secret := regexp.MustCompile("[A-Z2-7]{8}"); secret.MatchString(err.Error()) {
			t.Errorf("an error has a part of a secret: %v", err)
		}
	}
	wantVerdict(t, v, after(600), k.Secret(), "unknown")
	wantVerdict(t, v, after(600), apikeys.New().Secret(), "unknown")
	x.err = nil
	wantVerdict(t, v, after(601), k.Secret(), "valid")
}

// TestUnreadable: an item that something else changed is no valid key.
func TestUnreadable(t *testing.T) {
	x, v, k := newTable(nil)
	x.err = fmt.Errorf("table rules: %w", ruletable.ErrUnreadableKey)
	wantVerdict(t, v, epoch, k.Secret(), "invalid")
	wantVerdict(t, v, after(5), k.Secret(), "invalid")
	x.wantReads(t, 1)
	if len(x.reported) != 1 {
		t.Errorf("reported %v", x.reported)
	}
}

// TestOneRead: requests at the same time share a read. One that gives up leaves
// it to the others, and goes on with the last answer if there is one.
func TestOneRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int32
		k := apikeys.New()
		v := apikeys.NewVerifier(func(ctx context.Context, name string) (*ruletable.APIKey, error) {
			reads.Add(1)
			time.Sleep(500 * time.Millisecond)
			return &ruletable.APIKey{Name: name, Hash: k.Hash(), ID: "acme"}, ctx.Err()
		}, func(error) {})
		all := func(now time.Time, wantEarly error) {
			var wg sync.WaitGroup
			for i := range 100 {
				wg.Go(func() {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					want := error(nil)
					if i == 0 {
						time.AfterFunc(100*time.Millisecond, cancel)
						want = wantEarly
					}
					caller, err := v.Verify(ctx, now, k.Secret())
					if !errors.Is(err, want) || err == nil && caller == nil {
						t.Errorf("request %d: %v, %v, want error %v", i, caller, err, want)
					}
				})
				synctest.Wait()
			}
			wg.Wait()
		}
		all(epoch, context.Canceled)
		all(after(10), nil)
		time.Sleep(time.Second) // of the bubble's clock: the read ends beside the requests
		if reads.Load() != 2 {
			t.Errorf("%d reads, want 2", reads.Load())
		}
	})
}

// TestAuthenticate: only the header counts. Each request has a valid key in its
// query, which logs and other servers would see.
func TestAuthenticate(t *testing.T) {
	_, v, k := newTable(nil)
	valid := &request.Request{APIKey: "acme", Claims: map[string]any{"plan": "pro", "tenant": json.Number("12345678901234567890")}}
	for name, test := range map[string]struct {
		headers map[string][]string
		want    *request.Request
	}{
		"in the query":    {nil, &request.Request{}},
		"a key":           {map[string][]string{"X-Api-Key": {k.Secret()}}, valid},
		"another header":  {map[string][]string{"authorization": {k.Secret()}}, &request.Request{}},
		"an empty header": {map[string][]string{"x-api-key": {""}}, &request.Request{Rejected: true}},
		"a made-up key":   {map[string][]string{"x-api-key": {apikeys.New().Secret()}}, &request.Request{Rejected: true}},
		"a name":          {map[string][]string{"x-api-key": {k.Name()}}, &request.Request{Rejected: true}},
		"two keys":        {map[string][]string{"x-api-key": {k.Secret(), k.Secret()}}, &request.Request{Rejected: true}},
		"in two cases":    {map[string][]string{"x-api-key": {k.Secret()}, "X-API-KEY": {"x"}}, &request.Request{Rejected: true}},
	} {
		r := &request.Request{Headers: test.headers, Query: map[string][]string{"x-api-key": {k.Secret()}}}
		if err := v.Authenticate(t.Context(), epoch, "x-api-key", r); err != nil {
			t.Fatal(err)
		}
		if r.Rejected != test.want.Rejected || r.APIKey != test.want.APIKey || cmp.Diff(r.Claims, test.want.Claims) != "" {
			t.Errorf("%s: %+v, want %+v", name, r, test.want)
		}
	}
}

// TestHangingTable: a request whose key is known waits a tenth of a second for a
// table that hangs, and the next ones not at all. One with a new key waits a
// second.
func TestHangingTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, hangs := apikeys.New(), false
		v := apikeys.NewVerifier(func(ctx context.Context, name string) (*ruletable.APIKey, error) {
			if hangs {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return &ruletable.APIKey{Name: name, Hash: k.Hash(), ID: "acme"}, nil
		}, func(error) {})
		wantVerdict(t, v, epoch, k.Secret(), "valid")
		hangs = true
		for i, test := range []struct {
			at      float64
			text    string
			want    string
			waiting time.Duration
		}{
			{10, k.Secret(), "valid", 100 * time.Millisecond},
			{10.2, k.Secret(), "valid", 100 * time.Millisecond}, // the read is still under way
			{12, k.Secret(), "valid", 0},                        // it has failed
			{12, apikeys.New().Secret(), "unknown", time.Second},
		} {
			began := time.Now()
			wantVerdict(t, v, after(test.at), test.text, test.want)
			if waited := time.Since(began); waited != test.waiting {
				t.Errorf("request %d waited for %v, want %v", i, waited, test.waiting)
			}
			if i == 1 {
				time.Sleep(2 * time.Second) // of the bubble's clock: the read fails
			}
		}
	})
}

// TestLookedUp: the table is asked for nothing but the name of a whole secret. A
// key that differs in one letter is another name, or none, so how long an answer
// takes says nothing about how much of a secret is right.
func TestLookedUp(t *testing.T) {
	k := apikeys.New()
	var names []string
	v := apikeys.NewVerifier(func(_ context.Context, name string) (*ruletable.APIKey, error) {
		names = append(names, name)
		return nil, nil
	}, func(error) {})
	whole := k.Secret()
	const secretAt = len("sg_59b94cffe8b34dbf_")
	for i := range whole {
		changed := []byte(whole)
		if changed[i]++; i >= secretAt && changed[i] == 'Z'+1 || changed[i] == '8' {
			changed[i] = 'A'
		}
		wantVerdict(t, v, epoch, string(changed), "invalid")
	}
	for _, text := range []string{
		whole[:len(whole)-1], whole + "A", whole[secretAt:], whole[:secretAt-1], strings.ToLower(whole), strings.ToUpper(whole), " " + whole, whole + "\n",
		strings.TrimPrefix(whole, "sg_"), "sk_" + whole[3:], "sg_" + whole, whole + "," + whole, whole[:secretAt] + strings.Repeat("A", 26), "Bearer " + whole,
	} {
		wantVerdict(t, v, epoch, text, "invalid")
	}
	if len(names) != 0 {
		t.Errorf("the table was asked for %q", names)
	}
	wantVerdict(t, v, epoch, whole, "invalid")
	if len(names) != 1 || names[0] != k.Name() {
		t.Errorf("the table was asked for %q, want %s", names, k.Name())
	}
}

// TestRotated: the old key of a rotation ends at its time, also in a verifier that
// read it before; without an overlap, ten seconds after at most.
func TestRotated(t *testing.T) {
	x, v, k := newTable(nil)
	wantVerdict(t, v, epoch, k.Secret(), "valid")
	old, next := *x.keys[k.Name()], apikeys.New()
	old.Expires, old.Successor = after(60), next.Name()
	created := *x.keys[k.Name()]
	created.Name, created.Hash = next.Name(), next.Hash()
	x.keys[k.Name()], x.keys[next.Name()] = &old, &created
	wantVerdict(t, v, after(1), next.Secret(), "valid")
	wantVerdict(t, v, after(59.9), k.Secret(), "valid")
	wantVerdict(t, v, after(60), k.Secret(), "invalid")
	wantVerdict(t, v, after(60), next.Secret(), "valid")

	x, v, k = newTable(nil)
	wantVerdict(t, v, epoch, k.Secret(), "valid")
	ended := *x.keys[k.Name()]
	ended.Expires = after(1)
	x.keys[k.Name()] = &ended
	wantVerdict(t, v, after(10), k.Secret(), "invalid")
}

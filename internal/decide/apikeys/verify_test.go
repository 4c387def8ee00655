package apikeys_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/decide/apikeys"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
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
// at one read in ten seconds, and three more at first. Others cannot be verified.
func TestOutage(t *testing.T) {
	x, v, k := newTable(nil)
	wantVerdict(t, v, epoch, k.Secret(), "valid")
	x.err = errors.New("no answer")
	for i := range 599 {
		wantVerdict(t, v, after(float64(i+1)), k.Secret(), "valid")
	}
	x.wantReads(t, 63)
	if len(x.reported) != 62 {
		t.Errorf("%d failures are reported, want 62", len(x.reported))
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

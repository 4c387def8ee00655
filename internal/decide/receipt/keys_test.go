package receipt_test

import (
	"encoding/base64"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/store/memory"
)

func secrets(t *testing.T, text string) receipt.Keys {
	t.Helper()
	keys, err := receipt.ParseKeys(text)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestVerify refuses headers that the authorizer has not signed of late.
func TestVerify(t *testing.T) {
	_, text := newBench(t, chat).decide(epoch)
	_, other := newBench(t, strings.Replace(chat, "capacity: 10", "capacity: 1000", 1)).decide(epoch)
	old, both, fresh := secrets(t, "the secret of before"), secrets(t, "the secret of now, the secret of before"), secrets(t, "the secret of now")
	_, mac, _ := strings.Cut(fresh.Sign(text), ".")
	for name, test := range map[string]struct {
		text string
		keys receipt.Keys
		at   time.Duration
		want error
	}{
		"signed":                       {fresh.Sign(text), fresh, 0, nil},
		"by the first of two":          {both.Sign(text), fresh, 0, nil},
		"by an old one that is valid":  {old.Sign(text), both, 0, nil},
		"by an old one":                {old.Sign(text), fresh, 0, receipt.ErrUnsigned},
		"unsigned":                     {text, fresh, 0, receipt.ErrUnsigned},
		"a signature cut short":        {text + "." + mac[:20], fresh, 0, receipt.ErrUnsigned},
		"a foreign signature":          {other + "." + mac, fresh, 0, receipt.ErrUnsigned},
		"no secret":                    {fresh.Sign(text), nil, 0, receipt.ErrUnsigned},
		"nothing":                      {"", fresh, 0, receipt.ErrUnsigned},
		"signed nonsense":              {fresh.Sign("AQ"), fresh, 0, receipt.ErrMalformed},
		"far too long":                 {fresh.Sign(strings.Repeat("A", 5000)), fresh, 0, receipt.ErrUnsigned},
		"a denial":                     {fresh.Sign("denied:e30"), fresh, 0, receipt.ErrMalformed},
		"as old as may be":             {fresh.Sign(text), fresh, receipt.MaxAge, nil},
		"too old":                      {fresh.Sign(text), fresh, receipt.MaxAge + 1, receipt.ErrExpired},
		"by a clock ahead":             {fresh.Sign(text), fresh, -time.Minute, nil},
		"by a clock that is far ahead": {fresh.Sign(text), fresh, -time.Hour, receipt.ErrExpired},
	} {
		if _, err := test.keys.Verify(test.text, epoch.Add(test.at)); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	if receipt.Keys(nil).Sign(text) != text || fresh.Sign("") != "" {
		t.Error("signed without a key, or signed nothing")
	}
	for _, short := range []string{"", "short", "0123456789abcdef,", "0123456789abcde"} {
		if _, err := receipt.ParseKeys(short); err == nil || short != "" && strings.Contains(err.Error(), short) {
			t.Errorf("%q: error %v", short, err)
		}
	}
}

// TestDenied: only the authorizer states how a request is denied. A client may
// deny its own.
func TestDenied(t *testing.T) {
	keys := secrets(t, "0123456789abcdef")
	issuer := receipt.NewIssuer(keys, slog.New(slog.DiscardHandler))
	full := &receipt.Denial{Status: 429, Fields: map[string]string{"Retry-After": "9"}, Body: "full"}
	text := issuer.Denied(full)
	payload, mac, _ := strings.Cut(text, ".")
	_, charge := newBench(t, chat).decide(epoch)
	for name, test := range map[string]struct {
		text   string
		want   *receipt.Denial
		denied bool
	}{
		"signed":            {text, full, true},
		"unsigned":          {payload, nil, true},
		"forged":            {"denied:e30." + mac, nil, true},
		"a charge's":        {keys.Sign(charge), nil, false},
		"a status of 200":   {issuer.Denied(&receipt.Denial{Status: 200}), nil, true},
		"a status of 600":   {issuer.Denied(&receipt.Denial{Status: 600}), nil, true},
		"signed, but empty": {keys.Sign("denied:"), nil, true},
		"signed null":       {keys.Sign("denied:bnVsbA"), nil, true},
		"a long body":       {issuer.Denied(&receipt.Denial{Status: 429, Fields: full.Fields, Body: strings.Repeat("x", 4000)}), &receipt.Denial{Status: 429, Fields: full.Fields}, true},
		"long fields":       {issuer.Denied(&receipt.Denial{Status: 429, Fields: map[string]string{"A": strings.Repeat("x", 4000)}}), nil, true},
		"nothing":           {"", nil, false},
	} {
		got, denied := keys.Denied(test.text)
		if denied != test.denied || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, denied %v", name, got, denied)
		}
	}
	unsigned := receipt.NewIssuer(nil, nil).Denied(full)
	if got, denied := keys.Denied(unsigned); got != nil || !denied || unsigned != "denied:" {
		t.Errorf("without a key: %s", unsigned)
	}
}

// TestMalformed reads damaged receipts.
func TestMalformed(t *testing.T) {
	_, text := newBench(t, chat).decide(epoch)
	for i := range len(text) {
		if r, err := receipt.Parse(text[:i]); err == nil {
			t.Errorf("cut at %d of %d: %+v", i, len(text), r)
		}
	}
	for _, wrong := range []string{"", "=", "A", "AA", "Aw" + text[2:], text + "AAAA", strings.Repeat("A", receipt.MaxLen+1)} {
		if _, err := receipt.Parse(wrong); !errors.Is(err, receipt.ErrMalformed) {
			t.Errorf("%.40s: error %v", wrong, err)
		}
	}
}

// FuzzParse reads any bytes. What it takes for a receipt, a store settles or
// refuses.
func FuzzParse(f *testing.F) {
	for _, document := range []string{chat, `
rules:
  - {name: a, key: all, refund_on: [404, 5xx], limits: [{capacity: 5, window: 1mo, timezone: Europe/Berlin, algorithm: fixed_window, anchor: 3}]}
  - {name: b, key: all, refund_on: 5xx, limits: [{capacity: 5, window: 60s, algorithm: sliding_window_counter}]}
  - {name: c, key: all, limits: [{capacity: 5, window: 60s, cost: {from: jwt.n, max: 5, settle: true, weights: {in: 0.5, other: 2}}}]}
`} {
		_, text := newBench(&testing.T{}, document).decide(epoch)
		data, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := receipt.Parse(base64.RawURLEncoding.EncodeToString(data))
		if err != nil {
			return
		}
		store := memory.New(0)
		settler := receipt.NewSettler(store, nil, nil)
		for i := range r.Pending {
			p := &r.Pending[i]
			if err := p.Charge.Check(); err != nil {
				t.Fatal(err)
			}
			for _, o := range []engine.Outcome{{Status: 500}, {Aborted: true}, {Costs: map[string]int64{p.PolicyName(0): 1 << 62}}, {Usage: map[string]int64{"in": 7}}} {
				if err := p.Settle(t.Context(), r.Time, store, engine.NoObserver{}, &o); err != nil && strings.Contains(err.Error(), "corrected") {
					t.Errorf("%+v: %v", p, err)
				}
			}
		}
		settler.Finish(t.Context(), epoch, r, &engine.Outcome{Aborted: true})
	})
}

package apikeys_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/internal/decide/apikeys"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

const example = "sg_59b94cffe8b34dbf_7DQ4PWBHSX2LKNAVGTC3MRE6YF"

// TestForm: a scanner recognizes a key by its form and by its SHA-256, as the
// package's comment and SECURITY.md say.
func TestForm(t *testing.T) {
	k, ok := apikeys.Parse(example)
	if !ok || k.Name() != example[:19] || k.Secret() != example || !strings.HasPrefix("sg_"+k.Hash(), k.Name()) || len(k.Hash()) != 64 {
		t.Errorf("%s: %v, name %s, hash %s", example, ok, k.Name(), k.Hash())
	}
	for range 100 {
		k := apikeys.New()
		if again, ok := apikeys.Parse(k.Secret()); !ok || again != k {
			t.Errorf("a new key is not read again: %s", k.Secret())
		}
	}
}

// TestPrinted: a key that is logged by mistake shows its name alone.
func TestPrinted(t *testing.T) {
	k := apikeys.New()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if got := fmt.Sprintf(verb, k); strings.Trim(got, `"`) != k.Name() {
			t.Errorf("%s prints %s", verb, got)
		}
	}
}

func TestParseName(t *testing.T) {
	name := example[:19]
	for _, text := range []string{name, name[3:], example} {
		if got, err := apikeys.ParseName(text); err != nil || got != name {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "sg_", "sg_" + name, strings.ToUpper(name), name + "_", example[20:], "current"} {
		if got, err := apikeys.ParseName(text); err == nil {
			t.Errorf("%q is the name %s", text, got)
		} else if strings.Contains(err.Error(), example[20:24]) {
			t.Errorf("the error has a part of the secret: %v", err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(example)
	f.Fuzz(func(t *testing.T, text string) {
		k, ok := apikeys.Parse(text)
		if ok && k.Secret() != text {
			t.Errorf("%q is read as %q", text, k.Secret())
		}
	})
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

// TestHangingTable: the first request whose key is known waits a tenth of a second
// for a table that hangs, and the next ones not at all. One with a new key waits
// a second.
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
			{10.2, k.Secret(), "valid", 0}, // the read is still under way
			{10.9, k.Secret(), "valid", 0}, // it has failed
			{12, k.Secret(), "valid", 100 * time.Millisecond},
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
		strings.TrimPrefix(whole, "sg_"), "sk_" + whole[3:], "sg_" + whole, whole + "," + whole, whole[:secretAt] + strings.Repeat("A", 26), "Bearer " + whole, "", "sg_",
		whole[:secretAt] + "7DQ4PWBHSX2LKNAVGTC3MRE6YF", "sg_0000000000000000" + whole[secretAt-1:], strings.Repeat("sg_", 1<<16), whole[:7] + "é" + whole[9:],
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

package apikeys_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/decide/apikeys"
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

// TestNoKeys: a typing error, another service's key, and a name with another
// secret are no keys.
func TestNoKeys(t *testing.T) {
	for i := range len(example) {
		for _, letter := range "A0a_ \x00é" {
			text := example[:i] + string(letter) + example[i+1:]
			if _, ok := apikeys.Parse(text); ok && text != example {
				t.Errorf("%q is accepted", text)
			}
		}
	}
	for _, text := range []string{
		"", "sg_", example[:19], example[1:], example + "A", example + "\n", " " + example, strings.ToUpper(example), strings.ToLower(example),
		"SG.aaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", strings.Repeat("sg_", 1<<16),
		example[:20] + "7DQ4PWBHSX2LKNAVGTC3MRE6YA", "sg_0000000000000000" + example[19:],
	} {
		if _, ok := apikeys.Parse(text); ok {
			t.Errorf("%.60q is accepted", text)
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

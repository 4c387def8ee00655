package ruledoc

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestInstead: the patterns of texts.txt are valid, the names and values that
// they suggest exist, and no word that a field allows is taken for a mistake.
func TestInstead(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var check func(of reflect.Type)
	check = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || seen[of] {
			return
		}
		seen[of] = true
		fields := Fields(of)
		names := map[string]bool{}
		for _, f := range fields {
			names[f.Name] = true
			for _, word := range f.Tags.Enum {
				if right := Instead(f.Tags.Meant, f.Type, word); right != "" {
					t.Errorf("%s.%s: %q is right, and the message says: %s", of, f.Name, word, right)
				}
				if right := InsteadOfField(of, f.Name, word); right != "" {
					t.Errorf("%s.%s is a field, and the message says: %s", of, f.Name, right)
				}
			}
			for entry := range strings.SplitSeq(f.Tags.Meant, "; ") {
				right, _, _ := strings.Cut(entry, " = ")
				if len(f.Tags.Enum) > 0 && right != "" && !strings.Contains(" "+strings.Join(f.Tags.Enum, " ")+" ", " "+right+" ") {
					t.Errorf("%s.%s: %q is none of %q", of, f.Name, right, f.Tags.Enum)
				}
			}
			check(f.Type)
		}
		for entry := range strings.SplitSeq(ofType(of, "fields"), "; ") {
			right, _, _ := strings.Cut(entry, " = ")
			if _, other, ok := strings.Cut(right, ", or write "); ok { // after "remove it"
				right = other
			}
			name, _, _ := strings.Cut(right, ":")
			if home, inner, ok := strings.Cut(name, "."); ok { // denied.status, or when.path
				top, own := memberOf(reflect.TypeFor[Document](), home), memberOf(of, home)
				if inner, _, _ = strings.Cut(inner, ":"); memberOf(top, inner) == nil && memberOf(own, inner) == nil {
					t.Errorf("%s: %q is no field of a field", of, name)
				}
				continue
			}
			if strings.Contains(right, " at the top of the document") {
				names := reflect.TypeFor[Document]()
				if memberOf(names, name) == nil {
					t.Errorf("%s: %q is no field of the document", of, name)
				}
				continue
			}
			if name, _, _ = strings.Cut(name, ","); right != "" && !names[name] && !strings.Contains(name, " ") {
				t.Errorf("%s: %q is no field", of, name)
			}
		}
		if forms, ok := FormsOf(of); ok {
			check(forms)
		}
	}
	check(reflect.TypeFor[Document]())
	check(reflect.TypeFor[Override]())
	if len(seen) < 15 {
		t.Errorf("only %d types", len(seen))
	}
	for field := range texts() {
		owner, star := strings.CutSuffix(field, ".*")
		if star && !slices.ContainsFunc(slices.Collect(maps.Keys(seen)), func(of reflect.Type) bool { return of.Name() == owner }) {
			t.Errorf("texts.txt describes %s, and there is no such type", field)
		}
	}
}

// memberOf returns the type that a field of a struct has, or points to; nil for no
// field.
func memberOf(of reflect.Type, name string) reflect.Type {
	if of == nil || of.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range Fields(of) {
		if f.Name == name && f.Type.Kind() == reflect.Pointer {
			return f.Type.Elem()
		} else if f.Name == name {
			return f.Type
		}
	}
	return nil
}

// TestMeantDuration: what people write for lengths of time, and what windows
// can have.
func TestMeantDuration(t *testing.T) {
	for text, want := range map[string]string{
		"1 minute": "1m", "1min": "1m", "PT1H": "1h", "pt1h30m": "1h30m", "P1DT12H": "1d12h", "P1M": "1mo", "P2W": "14d", "P1W": "1w", "minute": "1m",
		"60 seconds": "60s", "500 millis": "500ms", "250ms": "250ms", "1.5 hours": "1.5h", "2 hrs": "2h", "1 hour and 30 minutes": "1h30m",
		"1 week": "1w", "1 month": "1mo", "3 months": "90d", "1 week 1 day": "", "1 minuet": "1m", "10S": "10s", "one minute": "",
		"": "", "60": "", "p": "", "soon": "", "-1 minute": "", "1 fortnight": "", "1 year": "", "1m!": "", "1.5 weeks": "", "99999999999999999999d": "",
	} {
		if got := MeantDuration(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestMeantNumber(t *testing.T) {
	for text, want := range map[string]int64{
		"10": 10, "1k": 1000, "1K": 1000, "2.5M": 2500000, "1,000": 1000, "1_000_000": 1000000, "10 000": 10000, "1e6": 1000000, "10.0": 10,
		"1.5": 0, "1,5": 0, "": 0, "k": 0, "1kk": 0, "0": 0, "-1": 0, "NaN": 0, "inf": 0, "1e300": 0, "ten": 0, "0x10": 0, "100_000_000_000": 1e11,
		"999999999999999": 999999999999999, "1000000000000000": 0,
	} {
		got, ok := MeantNumber(text)
		if ok != (want != 0) || ok && got != want {
			t.Errorf("%q: got %d, %t, want %d", text, got, ok, want)
		}
	}
}

func TestClosest(t *testing.T) {
	known := []string{"name", "when", "key", "limits", "cost", "on_error"}
	for _, tt := range []struct{ word, want string }{
		{"limit", "limits"}, {"on-error", "on_error"}, {"onerror", "on_error"}, {"nmae", "name"}, {"costs", "cost"},
		{"kye", "key"}, {"ky", "key"}, {"csot", "cost"}, {"rate", ""}, {"must", ""}, {"per", ""}, {"ekyy", ""}, // as many mistakes as half the letters make another word
		{"wehn", "when"}, {"limts", "limits"}, {"path", ""},
		{"retries", ""}, {"x", ""}, {"", ""}, {"wh", ""}, {strings.Repeat("limits", 1000), ""},
	} {
		if got := Closest(tt.word, known); got != tt.want {
			t.Errorf("Closest(%.20q) = %q, want %q", tt.word, got, tt.want)
		}
	}
}

func TestSuggest(t *testing.T) {
	for _, tt := range []struct {
		word  string
		known []string
		want  string
	}{
		{"limit", []string{"limits", "key"}, "did you mean limits?"},
		{"retries", []string{"limits", "key", "name"}, "there are limits, key and name"},
		{"retries", []string{"limits"}, "there are limits"},
		{"no", []string{"on", "off"}, "there are on and off"},
		{"retries", nil, "there are "},
	} {
		if got := Suggest(tt.word, tt.known, "there are", "and"); got != tt.want {
			t.Errorf("Suggest(%q, %q) = %q, want %q", tt.word, tt.known, got, tt.want)
		}
	}
}

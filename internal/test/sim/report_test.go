package sim

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// fill sets every number of a report to n.
func fill(v reflect.Value, n int64) {
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		v.SetInt(n)
	case reflect.Float64:
		v.SetFloat(float64(n))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	}
}

func TestAddCoversEveryNumber(t *testing.T) {
	var a, b, want Report
	fill(reflect.ValueOf(&a).Elem(), 1)
	fill(reflect.ValueOf(&b).Elem(), 2)
	fill(reflect.ValueOf(&want).Elem(), 3)
	want.Attributes, want.Bytes, want.Peak = 2, 2, 2 // the larger of two
	a.Violations, b.Violations = []Violation{{What: "one"}}, []Violation{{What: "two"}}
	want.Violations = []Violation{{What: "one"}, {What: "two"}}
	if a.Add(&b); !reflect.DeepEqual(a, want) {
		t.Errorf("got  %+v\nwant %+v", a, want)
	}
}

func TestReportString(t *testing.T) {
	r := Report{Decisions: 200, Writes: 50, Violations: []Violation{{World: "calm", Seed: 7, What: "too much"}}}
	text := strings.Join(strings.Fields(r.String()), " ")
	for _, want := range []string{"decisions 200 1.0000", "writes 50 0.2500", "world calm, seed 7, after 0 decisions", "too much"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, &r)
		}
	}
}

// TestHistory checks that the history printed with a violation has only the
// latest events, oldest first.
func TestHistory(t *testing.T) {
	var h history
	for range 100 {
		h.add(logEntry{at: epoch, environment: 9, what: "refused"})
	}
	l := limit.Limit{Name: "b", Capacity: 10}
	now := epoch + int64(1500*time.Millisecond)
	h.add(logEntry{at: now + 1e6, environment: 3, what: "charge", charging: charging{
		&l, 2, 77, time.Unix(0, now).Add(-time.Second), now, now + 1e6, false,
	}})
	lines := strings.Split(strings.TrimRight(h.String(), "\n"), "\n")
	if len(lines) != maxHistory {
		t.Errorf("%d lines, want %d", len(lines), maxHistory)
	}
	want := `        1.501000 s  charge      by 3, limit "b", cost 2, capacity 10, slot 77, requested at 1.500000 s by a clock -1s wrong, not admitted`
	if got := lines[len(lines)-1]; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestDrawnPlans checks that drawn plans are valid and differ.
func TestDrawnPlans(t *testing.T) {
	environments, loads := map[bool]bool{}, map[bool]bool{}
	for n := range 500 {
		p := Draw(3, n)
		if p.Environments < 20 || p.Environments > 200 {
			t.Errorf("world %d has %d environments", n, p.Environments)
		}
		environments[p.Environments > 150] = true
		for i := range p.Subjects {
			s := &p.Subjects[i]
			c := limit.Charge{Key: "k", Limits: s.Limits, Costs: s.MaxCosts}
			if err := c.Check(); err != nil {
				t.Errorf("world %d, subject %d: %v", n, i, err)
			}
			loads[s.distance() < time.Millisecond] = true
		}
	}
	if len(environments) != 2 || len(loads) != 2 {
		t.Error("the worlds do not differ")
	}
}

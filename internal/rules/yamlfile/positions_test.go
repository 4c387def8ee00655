package yamlfile

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/kit/problem"
)

func TestLocate(t *testing.T) {
	_, p, message := decode(`rules:
  - name: r
    limts: [{capacity: x, window: 1s}]
    when: {methods: []}
    mode: xy
overrides:
  r:
    "ip:10.0.0.1":
      capacity: 5
    "ip:10.0.0.2": {why: 7, plan: p}
    "ip:10.0.0.3": 7
`)
	if p == nil {
		t.Fatal(message)
	}
	value := func(path string) problem.Problem {
		return problem.Problem{Path: problem.Root(path), Fault: problem.New(problem.Refused, "is wrong")}
	}
	key := func(path string) problem.Problem {
		return problem.Problem{Path: problem.Root(path), AtKey: true, Fault: problem.New(problem.Refused, "is unknown")}
	}
	missing := func(path string) problem.Problem {
		return problem.Problem{Path: problem.Root(path), Fault: problem.New(problem.Missing, "write it")}
	}
	for _, tt := range []struct {
		name    string
		problem problem.Problem
		want    string // "" for a problem that is left out
	}{
		{"the document", value(""), "f:1:1: is wrong"},
		{"a value", value("rules[0].mode"), "f:5:11: rules[0].mode: is wrong"},
		{"a map in block style", value("rules[0]"), "f:2:5: rules[0]: is wrong"},
		{"a key", key("rules[0].mode"), "f:5:5: rules[0].mode: is unknown"},
		{"a missing field", missing("rules[0].key"), "f:2:5: rules[0]: key is missing: write it"},
		{"a field of a missing one", missing("plan.from"), "f:1:1: plan.from is missing: write it"},
		{"a default", value("rules[0].cost"), "f:2:5: rules[0]: is wrong"},
		{"an entry of a value that is no list", value("rules[0].mode[0]"), "f:5:11: rules[0].mode: is wrong"},
		{"dots in names", value("overrides.r.ip:10.0.0.1.capacity"), "f:9:17: overrides.r.ip:10.0.0.1.capacity: is wrong"},
		{"the key before them", key("overrides.r.ip:10.0.0.1"), "f:8:5: overrides.r.ip:10.0.0.1: is unknown"},
		{"a field of a misspelled one", value("rules[0].limits[0].window"), "f:3:35: rules[0].limits[0].window: is wrong"},
		{"a value that was not decoded", value("rules[0].limits[0].capacity"), ""},
		{"a map without it", value("rules[0].limits[0]"), ""},
		{"the list around that", value("rules[0].limits"), "f:3:12: rules[0].limits: is wrong"},
		{"a map with an empty list", value("rules[0].when"), ""},
		{"inside a value that was not decoded", value("overrides.r.ip:10.0.0.3.capacity"), ""},
		{"its key", key("overrides.r.ip:10.0.0.3"), "f:11:5: overrides.r.ip:10.0.0.3: is unknown"},
		{"beside a value that was not decoded", value("overrides.r.ip:10.0.0.2.plan"), "f:10:35: overrides.r.ip:10.0.0.2.plan: is wrong"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got string
			known := map[*Error]bool{}
			for _, e := range p.errors {
				known[e] = true
			}
			for _, e := range p.Locate([]problem.Problem{tt.problem}) {
				if !known[e] {
					got += e.Error()
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if all := p.Locate([]problem.Problem{value("rules[0].mode"), value("rules[0].name")}); len(all) != 7 || all[0].Line != 2 || all[6].Line != 11 {
		t.Errorf("not in the order of the text:\n%v", all)
	}
	if got, want := p.At("rules[0].mode"), (Place{5, 11}); got != want {
		t.Errorf("At: %+v, want %+v", got, want)
	}
}

package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	const in = `goos: linux
BenchmarkDynamo/denied/slidegate-2   100   500 ns/op   0.5 reads/op   0.25 writes/op   0 B/op   0 allocs/op
BenchmarkMemory/hot/slidegate        100   50.0 ns/op  0 B/op   0 allocs/op
BenchmarkMemory/hot/slidegate-2      100   60.0 ns/op  0 B/op   0 allocs/op
BenchmarkMemory/hot/bare             100   25.0 ns/op  8 B/op   1 allocs/op
BenchmarkMemory/hot/x-time-rate-2    100   99.0 ns/op  0 B/op   0 allocs/op
PASS
`
	const want = `| case | threads | ns per decision | allocations | × bare | calls |
|---|---|---|---|---|---|
| dynamo/denied, slidegate | 2 | 500.0 | 0 |  | 0.250 writes, 0.500 reads |
| memory/hot, slidegate | 1 | 50.0 | 0 | 2.00 |  |
| memory/hot, slidegate | 2 | 60.0 | 0 |  |  |
| memory/hot, bare | 1 | 25.0 | 1 | 1.00 |  |
| memory/hot, x-time-rate | 2 | 99.0 | 0 |  |  |
`
	var out strings.Builder
	if err := run(strings.NewReader(in), &out); err != nil || out.String() != want {
		t.Errorf("error %v, got\n%s\nwant\n%s", err, out.String(), want)
	}
	if err := run(strings.NewReader("PASS\n"), &out); err == nil {
		t.Error("no error for an empty run")
	}
}

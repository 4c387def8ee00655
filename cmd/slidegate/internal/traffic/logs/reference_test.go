package logs

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/request"
)

// outcome is what a replay does with logs.
type outcome struct {
	Seen                []string
	Skipped, OutOfOrder int64
	FirstSkipped        string
	Warned              []string
}

func describe(at time.Time, r *request.Request) string {
	return fmt.Sprint(at.UnixNano(), r.Method, r.Path, r.Route, r.IP, r.Headers, r.Query, r.APIKey, r.Claims)
}

// reference reads logs line by line, and sorts them in memory.
func reference(texts []string, formats []Format, order Order) (want outcome) {
	type seen struct {
		at   time.Time
		text string
	}
	var all []seen
	for i, content := range texts {
		last := time.Time{}
		name := fmt.Sprint("log", i)
		parse := formats[i].parser(func(text string) { want.Warned = append(want.Warned, name+": "+text) })
		for number, line := range strings.Split(content, "\n") {
			if line = strings.TrimRight(line, "\r\n"); line == "" {
				continue
			}
			var r record
			found, err := parse(line, &r)
			if len(line) >= maxLine {
				err = errLong
			}
			if err != nil {
				if want.Skipped++; want.Skipped == 1 {
					want.FirstSkipped = fmt.Sprintf("%s:%d: %v", name, number+1, err)
				}
				continue
			}
			if found {
				e := r.entry()
				if !last.IsZero() && e.Time.Before(last) {
					want.OutOfOrder++
				}
				last = e.Time
				all = append(all, seen{e.Time, describe(e.Time, e.Request)})
			}
		}
	}
	if order == ByTime {
		slices.SortStableFunc(all, func(a, b seen) int { return a.at.Compare(b.at) })
	}
	for _, s := range all {
		want.Seen = append(want.Seen, s.text)
	}
	return want
}

var wide = flag.Bool("wide", false, "compare more random logs, as make test-wide does")

// A replay of random logs, in which many lines are broken, does what the plain
// reference does: whatever the sizes of reads and of lines.
func TestReference(t *testing.T) {
	seeds := uint64(25)
	if *wide {
		seeds = 200
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			g := rand.New(rand.NewPCG(seed, 15))
			order := []Order{ByTime, AsLogged}[g.IntN(2)]
			var got outcome
			traffic := &Traffic{Order: order, Warn: func(text string) { got.Warned = append(got.Warned, text) }}
			var texts []string
			var formats []Format
			for i := range 1 + g.IntN(3) {
				format := []Format{CLF, CLF, CLF, JSONL, CSV}[g.IntN(5)]
				content := randomLog(g, format)
				texts, formats = append(texts, content), append(formats, format)
				if g.IntN(4) == 0 {
					content = gzipped(t, content)
				}
				log := Stream(fmt.Sprint("log", i), bytes.NewReader([]byte(content)), format)
				if g.IntN(4) == 0 {
					log = Stream(log.Name, iotest.HalfReader(strings.NewReader(content)), format)
				}
				traffic.Logs = append(traffic.Logs, log)
			}
			report, err := read(t.Context(), traffic, func(e *Entry) error {
				got.Seen = append(got.Seen, describe(e.Time, e.Request))
				return nil
			})
			if err != nil && !errors.Is(err, ErrUnreadable) {
				t.Fatal(err)
			}
			got.Skipped, got.OutOfOrder = report.Skipped, report.OutOfOrder
			if report.FirstSkipped != nil {
				got.FirstSkipped = report.FirstSkipped.Error()
			}
			if want := reference(texts, formats, order); !reflect.DeepEqual(got, want) {
				t.Error(gocmp.Diff(want, got))
			}
		})
	}
}

// randomLog returns a log of which most lines can be read.
func randomLog(g *rand.Rand, format Format) string {
	var b strings.Builder
	if format == CSV {
		b.WriteString([]string{"time,path,ip,header.x,header.x,size\n", "path,time\n", "\n\ntime,jwt.sub\r\n", "path\n"}[g.IntN(4)])
	}
	day := time.Date(2015, 5, 17, 22, 0, 0, 0, time.UTC)
	for range g.IntN(700) {
		day = day.Add(time.Duration(g.IntN(60)) * time.Second)
		at := day.Add(-time.Duration(g.IntN(3)*g.IntN(4000)) * time.Second)
		line := randomLine(g, format, at)
		if g.IntN(10) == 0 {
			line = mutate(g, line)
		}
		b.WriteString(line)
		b.WriteString([]string{"\n", "\n", "\n", "\n", "\n", "\r\n", "\n\n"}[g.IntN(7)])
	}
	if g.IntN(30) == 0 {
		b.WriteString(strings.Repeat("x", maxLine-2+g.IntN(4)))
		b.WriteString([]string{"\n", "", "\n" + randomLine(g, format, day)}[g.IntN(3)])
	}
	return strings.TrimRight(b.String(), []string{"", "\r\n"}[g.IntN(2)])
}

func randomLine(g *rand.Rand, format Format, at time.Time) string {
	pick := func(of ...string) string { return of[g.IntN(len(of))] }
	path := pick("/", "/a", "/a/b?c=d&c=e", "/a b", "/%41?x", "http://h/p", "*", "/a%2Fb", "/?q=%zz")
	ip := pick("203.0.113.9", "203.0.113.10", "2001:db8::1", "-")
	switch format {
	case JSONL:
		return fmt.Sprintf(`{"time":%d,"path":"%s","ip":"%s","headers":{"a":"%s","b":["c","d"]},"jwt":%s}`,
			at.Unix(), path, ip, pick("", "x"), pick("null", "{}", `{"sub":"7"}`, `{"n":1e400,"a":["\ud800<é",null,{"b":true}]}`))
	case CSV:
		return fmt.Sprintf(pick("%[1]d,%[2]s,%[3]s,h,i,9", "%[2]s,%[1]d", `%[1]d,"%[2]s"`), at.Unix(), path, ip)
	}
	zone := time.FixedZone("", g.IntN(3)*g.IntN(900)*60)
	line := fmt.Sprintf(`%s - %s [%s] "%s %s HTTP/1.1" %s`, ip, pick("-", "Jo [x] Doe"), at.In(zone).Format(clfTime),
		pick("GET", "GET", "GET", "POST", "PURGE", "G/T"), path, pick("200 12", "304 -", "200 5"))
	return line + pick("", ` "-" "-"`, ` "http://e/" "curl/8"`, ` "-" "say \"hi\""`, ` "a\x41" "cut`, ` 0.003`, ` "r" "u" "x" 7`)
}

// mutate changes, drops or repeats a few bytes.
func mutate(g *rand.Rand, line string) string {
	for range 1 + g.IntN(3) {
		i := g.IntN(len(line) + 1)
		j := min(i+g.IntN(4), len(line))
		line = line[:i] + []string{"", `"`, `\`, " ", "[", `] "`, `]"`, "9", "-", ":", "\r", "\xff", line[i:j] + line[i:j]}[g.IntN(13)] + line[j:]
	}
	return line
}

// Lines are numbered beyond what is read at once.
func TestLineNumbers(t *testing.T) {
	const lines = 5000
	log := strings.Repeat(requests("1 /"), lines)
	if len(log) < 3*blockBytes {
		t.Fatalf("a log of %d bytes is read at once", len(log))
	}
	report, err := read(t.Context(), &Traffic{Logs: []Log{text(log + "?\n")}}, keep(new([]string)))
	if got, want := fmt.Sprint(report.FirstSkipped, err), fmt.Sprintf("log:%d: line is not JSON: invalid character '?' looking for beginning of value <nil>", lines+1); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	broken := Stream("log", io.MultiReader(strings.NewReader(log), iotest.ErrReader(errDown)), JSONL)
	if _, err = read(t.Context(), &Traffic{Logs: []Log{broken}}, keep(new([]string))); message(err) != fmt.Sprintf("log:%d: %v", lines+1, errDown) {
		t.Errorf("error %v", err)
	}
}

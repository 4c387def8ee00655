package logs

import (
	"reflect"
	"testing"
)

func TestCSV(t *testing.T) {
	at := on(10, 5, 3)
	const all = "time,method,path,ip,header.X-User,route,apikey,jwt.sub"
	runParser(t, CSV, []parserCase{
		{
			name: "every column", header: all,
			line: `2015-05-17T10:05:03Z,PUT,/a?b=c,203.0.113.9,7,/{x},k1,u1`,
			want: wanted{
				at: at, method: "PUT", path: "/a", ip: "203.0.113.9", route: "/{x}",
				query: map[string][]string{"b": {"c"}}, headers: map[string][]string{"X-User": {"7"}},
				apiKey: "k1", claims: map[string]any{"sub": "u1"},
			},
		},
		{name: "empty values are missing", header: all, line: `1431857103,,/,,,,,`, want: wanted{at: at, path: "/"}},
		{name: "time alone", header: "path,time", line: `/,1431857103.000000001`, want: wanted{at: at.Add(1), path: "/"}},
		{name: "any order, spaces in the header line", header: "path, time", line: `/a,1431857103`, want: wanted{at: at, path: "/a"}},
		{name: "quoted", header: "time,path", line: `1431857103,"/a,b""c"`, want: wanted{at: at, path: `/a,b"c`}},
		{name: "a header twice", header: "path,time,header.a,header.a", line: `/,1431857103,1,2`, want: wanted{
			at: at, path: "/", headers: map[string][]string{"a": {"1", "2"}},
		}},
		{name: "claims by their exact names", header: "path,time,jwt.https://example.com/plan,jwt.a.b,jwt.", line: `/,1431857103,pro,,x`, want: wanted{
			at: at, path: "/", claims: map[string]any{"https://example.com/plan": "pro"},
		}},
		{name: "unknown columns", header: "path,time,size", line: `/,1431857103,200`, want: wanted{at: at, path: "/"}},
		{name: "the answer's status", header: "path,time,status", line: `/,1431857103,429`, want: wanted{at: at, path: "/", status: 429}},
		{name: "absent as API Gateway logs it", header: "time,method,path,route,apikey,header.x,jwt.sub", line: `1431857103,-,/,-,-,-,-`, want: wanted{at: at, path: "/"}},
		{name: "client with a port", header: "path,time,ip", line: `/,1431857103,203.0.113.9:5543`, want: wanted{at: at, path: "/", ip: "203.0.113.9"}},
		{name: "a status that is none", header: "path,time,status", line: `/,1431857103,000`, want: wanted{at: at, path: "/"}},

		{name: "no time", header: "time,path", line: `,/`, err: `no time: looked for time; the line has path`},
		{name: "too few values", header: "time,path", line: `1431857103`, err: `1 values under 2 columns`},
		{name: "too many values", header: "time", line: `1431857103,/`, err: `2 values under 1 columns`},
		{name: "quote never closed", header: "time,path", line: `1431857103,"/a`, err: `line is not CSV: extraneous or missing " in quoted-field`},
		{name: "client is a name", header: "path,time,ip", line: `/,1431857103,localhost`, err: `client "localhost" is not an IP address`},
		{name: "no column time", header: "path,ip", line: `/,203.0.113.9`, err: `header line names no column time`},
		{name: "a column twice", header: "time,path,path", line: `1431857103,/,/`, err: `header line names "path" twice`},
		{name: "a claim twice", header: "time,jwt.sub,jwt.sub", line: `1431857103,1,2`, err: `header line names "jwt.sub" twice`},
		{name: "header line is no CSV", header: `time,"path`, line: `1431857103,/`, err: `line is not CSV: extraneous or missing " in quoted-field`},
	})
}

func TestCSVWarnsOfUnusedColumns(t *testing.T) {
	var warned []string
	p := csvLog{warn: func(text string) { warned = append(warned, text) }}
	if _, err := p.parse("time,methd,status,header.,jwt.sub,jwt.,jwt./a/b,apikey", &record{}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"columns not used: methd, header., jwt., jwt./a/b"}; !reflect.DeepEqual(warned, want) {
		t.Errorf("warned %q, want %q", warned, want)
	}
}

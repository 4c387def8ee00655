package httplimit

import (
	"cmp"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseCosts(t *testing.T) {
	for field, want := range map[string]struct {
		costs   map[string]int64
		ignored string
	}{
		"":                             {nil, ""},
		"chat.tokens=512, export=1":    {map[string]int64{"chat.tokens": 512, "export": 1}, ""},
		" chat.tokens=0 ,export=1":     {map[string]int64{"chat.tokens": 0, "export": 1}, ""},
		"chat.tokens=1, chat.tokens=2": {map[string]int64{"chat.tokens": 2}, ""}, // the last of them, as RFC 9651 has it
		"chat.tokens=512;model=large":  {map[string]int64{"chat.tokens": 512}, ""},
		"chat.tokens":                  {nil, "chat.tokens"},
		"chat.tokens=1.5":              {nil, "chat.tokens=1.5"},
		"chat.tokens=many, export=2":   {map[string]int64{"export": 2}, "chat.tokens=many"},
		"=5":                           {map[string]int64{"": 5}, ""}, // no limit has this name
	} {
		if got, ignored := parseCosts(field); !maps.Equal(got, want.costs) || strings.Join(ignored, " ") != want.ignored {
			t.Errorf("%q: %v, ignored %q; want %v", field, got, ignored, want)
		}
	}
}

// TestPassCosts: costs go on to a limiter around this one.
func TestPassCosts(t *testing.T) {
	below := httptest.NewRecorder()
	w := NewRecorder(below, httptest.NewRequest("GET", "/", nil), nil)
	w.PassCosts = true
	w.Header().Set(costField, "a=1")
	w.Header().Set("Trailer", costField)
	w.WriteHeader(http.StatusOK)
	w.Header().Set(http.TrailerPrefix+costField, "a=2")
	if o, _ := w.Outcome(); o.Costs != nil || len(w.Header()) != 3 {
		t.Errorf("recorded %+v, left %v", o, w.Header())
	}
}

// TestRecordUpgrade: the header of an upgrade does not pass through
// WriteHeader.
func TestRecordUpgrade(t *testing.T) {
	fields := http.Header{costField: {"a=1"}, "Upgrade": {"websocket"}}
	w := NewRecorder(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil), nil)
	w.Record(http.StatusSwitchingProtocols, fields)
	if o, _ := w.Outcome(); o.Status != 101 || o.Costs["a"] != 1 || o.Aborted || len(fields) != 1 {
		t.Errorf("recorded %+v, left %v", o, fields)
	}
}

// offered lists the interfaces of a writer that handlers ask for.
func offered(w http.ResponseWriter) (names string) {
	_, f := w.(http.Flusher)
	_, h := w.(http.Hijacker)
	_, p := w.(http.Pusher)
	_, r := w.(io.ReaderFrom)
	for name, has := range map[string]bool{"flush ": f, "hijack ": h, "push ": p, "read ": r} {
		if has {
			names += name
		}
	}
	words := strings.Fields(names)
	slices.Sort(words)
	return strings.Join(words, " ")
}

// hiding is a writer of a program's own, which http.ResponseController sees through.
type hiding struct{ http.ResponseWriter }

func (w hiding) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// TestWriter: handlers find the interfaces that the server's writer has, also
// through two recorders.
func TestWriter(t *testing.T) {
	for name, test := range map[string]struct {
		version int
		around  func(http.Handler) http.Handler
		want    string // beside those of the server's writer
	}{
		"HTTP/1":  {version: 1},
		"HTTP/2":  {version: 2},
		"a limit": {1, func(h http.Handler) http.Handler { return http.TimeoutHandler(h, time.Minute, "") }, "push"},
		"a program's writer": {1, func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(hiding{w}, r) })
		}, "flush hijack"},
	} {
		var own, got, twice string
		var h http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			own = offered(w)
			once := NewRecorder(w, r, nil).Writer()
			got, twice = offered(once), offered(NewRecorder(once, r, nil).Writer())
		})
		if test.around != nil {
			h = test.around(h)
		}
		server := httptest.NewUnstartedServer(h)
		server.EnableHTTP2 = test.version == 2
		server.StartTLS()
		answer, err := server.Client().Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		server.Close()
		if want := cmp.Or(test.want, own); got != want || twice != want || answer.ProtoMajor != test.version {
			t.Errorf("%s: offers %q, and %q through two; the server's writer offers %q", name, got, twice, own)
		}
	}
}

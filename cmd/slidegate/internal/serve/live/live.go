// Package live is the page of `slidegate serve --admin` in a browser: what the
// limiter does now, why requests were denied, and what it would decide about a
// request. The page changes nothing, and charges nothing.
//
// Server-sent events push parts of the page as HTML, each only if it changed.
// One rendering a second serves all browsers that watch; without one, there is
// none.
package live

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/admin"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
)

// maxWatchers bounds the browsers that get events. The next one takes the place of
// the first: a client that reads nothing cannot be told from one that does until
// its buffers are full. The first gets an event that says so, and does not come back
// by itself, or it would push out the next.
const maxWatchers = 16

// Options say what the page shows. All of them are required but Page.
type Options struct {
	admin.Options // Stopping ends the events, which would delay the end of serve
	// Explain returns what the rules decide about a request now, without charging
	// it, as an *operator.ExplainReport: the template "explained" has its fields.
	Explain  func(context.Context, *request.Request) (any, error)
	Observer *Observer
}

// Page is the handler of the page, and of all below /live/.
type Page struct {
	Options
	http.ServeMux

	rates    rates
	mu       sync.Mutex
	watchers []*context.CancelFunc // end the events of each browser, the oldest first
	parts    map[string]string     // the latest rendering
	rendered chan struct{}         // is closed by the next one
}

// New returns a page, which counts from now on. Run keeps it up to date.
func New(o Options) *Page {
	p := &Page{Options: o, rendered: make(chan struct{}), rates: rates{until: o.Now().Add(bucketTime), last: o.Snapshot()}}
	p.HandleFunc("GET /{$}", p.page)
	p.HandleFunc("GET /live/events", p.events)
	p.HandleFunc("HEAD /live/events", func(http.ResponseWriter, *http.Request) {}) // takes no place
	p.HandleFunc("GET /live/denials/{id}", p.denial)
	p.HandleFunc("GET /live/rules", p.document)
	p.HandleFunc("POST /live/try", p.try)
	return p
}

// ServeHTTP serves a browser that has been let in.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range map[string]string{
		"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
	} {
		w.Header().Set(name, value)
	}
	p.ServeMux.ServeHTTP(w, r)
}

// Run ends the buckets of rates, and renders the page for those who watch, at each
// tick until the context ends. Ticks come every second.
func (p *Page) Run(ctx context.Context, ticks <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticks:
			p.rates.roll(now, p.Snapshot)
			p.render()
		}
	}
}

// watch adds a watcher, whose events end ends, in the place of the oldest if there
// are too many. leave removes it.
func (p *Page) watch(end *context.CancelFunc) (leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.watchers) == maxWatchers {
		(*p.watchers[0])()
		p.watchers = p.watchers[1:]
	}
	p.watchers = append(p.watchers, end)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.watchers = slices.DeleteFunc(p.watchers, func(w *context.CancelFunc) bool { return w == end })
	}
}

// render makes the parts of the page, and has the watchers send them. Without a
// watcher it does nothing.
func (p *Page) render() {
	p.mu.Lock()
	watched := len(p.watchers) > 0
	p.mu.Unlock()
	if !watched {
		return
	}
	v, parts := p.view(), map[string]string{}
	for _, name := range partNames {
		parts[name] = execute(name, v)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.rendered)
	p.parts, p.rendered = parts, make(chan struct{})
}

func (p *Page) latest() (parts map[string]string, next <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.parts, p.rendered
}

func (p *Page) page(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, "page", p.view())
}

// events sends the parts that changed since it sent them last, all of them at
// first.
func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	ctx, end := context.WithCancel(r.Context())
	defer p.watch(&end)()
	stream := http.NewResponseController(w)
	_ = stream.SetReadDeadline(time.Time{}) // else the end of --read-timeout ends the events
	w.Header().Set("Content-Type", "text/event-stream")
	_, next := p.latest()
	sent, err := map[string]string{}, error(nil)
	for _, err = fmt.Fprint(w, "retry: 2000\n\n"); err == nil && stream.Flush() == nil; {
		var parts map[string]string
		select {
		case <-ctx.Done():
			_, _ = fmt.Fprint(w, "event: evicted\ndata: {}\n\n") // the browser may have gone
			return
		case <-p.Stopping.Done():
			return
		case <-next:
		}
		parts, next = p.latest()
		changed := map[string]string{}
		for name, part := range parts {
			if sent[name] != part {
				changed[name] = part
			}
		}
		sent = parts
		line, _ := json.Marshal(changed)              // in JSON, no text ends the line
		_, err = fmt.Fprintf(w, "data: %s\n\n", line) // an empty change shows that the connection lives
	}
}

func (p *Page) denial(w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64) // 0 is none
	denied, kept := p.Observer.find(id)
	if !kept {
		write(w, http.StatusNotFound, "problem", fmt.Sprintf("This denial is no longer kept: only the latest %d are.", keptDenials))
		return
	}
	p.explain(w, r, &denied.request)
}

func (p *Page) try(w http.ResponseWriter, r *http.Request) {
	req, err := parseTry(w, r)
	if err != nil {
		write(w, http.StatusBadRequest, "problem", err.Error())
		return
	}
	p.explain(w, r, req)
}

// document writes the rules in force as YAML.
func (p *Page) document(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	set, err := p.Rules()
	if err != nil {
		http.Error(w, "the rules cannot be read: "+err.Error(), http.StatusBadGateway)
		return
	}
	yaml, err := rulefile.Write(set.Document(), nil)
	if err != nil {
		http.Error(w, "these rules cannot be written: "+err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(yaml) // the browser may have gone
}

func (p *Page) explain(w http.ResponseWriter, r *http.Request, req *request.Request) {
	report, err := p.Explain(r.Context(), req)
	if err != nil {
		write(w, http.StatusBadGateway, "problem", "the rules or the counters cannot be read: "+err.Error())
		return
	}
	write(w, http.StatusOK, "explained", report)
}

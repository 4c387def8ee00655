package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
)

// maxWatchers bounds the browsers that get events. The next one takes the place of
// the first: a client that reads nothing cannot be told from one that does until
// its buffers are full. The first gets an event that says so, and does not come back
// by itself, or it would push out the next.
const maxWatchers = 16

// pageFields are in all answers to browsers.
var pageFields = map[string]string{
	"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
	"Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
}

// Run ends the buckets of rates, and renders the page for those who watch, at each
// tick until the context ends. Ticks come every second.
func (s *Server) Run(ctx context.Context, ticks <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticks:
			s.rates.roll(now, s.Snapshot)
			s.render()
		}
	}
}

// watch adds a watcher, whose events end ends, in the place of the oldest if there
// are too many. leave removes it.
func (s *Server) watch(end *context.CancelFunc) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.watchers) == maxWatchers {
		(*s.watchers[0])()
		s.watchers = s.watchers[1:]
	}
	s.watchers = append(s.watchers, end)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watchers = slices.DeleteFunc(s.watchers, func(w *context.CancelFunc) bool { return w == end })
	}
}

// render makes the parts of the page, and has the watchers send them. Without a
// watcher it does nothing.
func (s *Server) render() {
	s.mu.Lock()
	watched := len(s.watchers) > 0
	s.mu.Unlock()
	if !watched {
		return
	}
	v, parts := s.view(), map[string]string{}
	for _, name := range partNames {
		parts[name] = execute(name, v)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.rendered)
	s.parts, s.rendered = parts, make(chan struct{})
}

func (s *Server) latest() (parts map[string]string, next <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parts, s.rendered
}

func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	writeHTML(w, http.StatusOK, "page", s.view())
}

// events sends the parts that changed since it sent them last, all of them at
// first.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	ctx, end := context.WithCancel(r.Context())
	defer s.watch(&end)()
	stream := http.NewResponseController(w)
	_ = stream.SetReadDeadline(time.Time{}) // else the end of --read-timeout ends the events
	w.Header().Set("Content-Type", "text/event-stream")
	_, next := s.latest()
	sent, err := map[string]string{}, error(nil)
	for _, err = fmt.Fprint(w, "retry: 2000\n\n"); err == nil && stream.Flush() == nil; {
		var parts map[string]string
		select {
		case <-ctx.Done():
			_, _ = fmt.Fprint(w, "event: evicted\ndata: {}\n\n") // the browser may have gone
			return
		case <-s.Stopping.Done():
			return
		case <-next:
		}
		parts, next = s.latest()
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

func (s *Server) denial(w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64) // 0 is none
	denied, kept := s.Observer.find(id)
	if !kept {
		writeHTML(w, http.StatusNotFound, "problem", fmt.Sprintf("This denial is no longer kept: only the latest %d are.", keptDenials))
		return
	}
	s.explain(w, r, &denied.request)
}

func (s *Server) try(w http.ResponseWriter, r *http.Request) {
	req, err := parseTry(w, r)
	if err != nil {
		writeHTML(w, http.StatusBadRequest, "problem", err.Error())
		return
	}
	s.explain(w, r, req)
}

// document writes the rules in force as YAML.
func (s *Server) document(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	set, err := s.Rules()
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

func (s *Server) explain(w http.ResponseWriter, r *http.Request, req *request.Request) {
	report, err := s.Explain(r.Context(), req)
	if err != nil {
		writeHTML(w, http.StatusBadGateway, "problem", "the rules or the counters cannot be read: "+err.Error())
		return
	}
	writeHTML(w, http.StatusOK, "explained", report)
}

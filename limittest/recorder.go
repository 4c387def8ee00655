package limittest

import (
	"context"
	"slices"
	"sync"

	"github.com/slidegate/slidegate"
)

// Recorder keeps the events that an observer gets. Its zero value is ready.
//
//	var recorder limittest.Recorder
//	lim, err := slidegate.New(limit, slidegate.WithObserver(recorder.Observe))
type Recorder struct {
	mu     sync.Mutex
	events []slidegate.Event
}

// Observe keeps an event. The method value is what [slidegate.WithObserver]
// takes.
func (r *Recorder) Observe(_ context.Context, e slidegate.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// Events returns a copy of the events so far, in the order in which they came.
func (r *Recorder) Events() []slidegate.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// Reset deletes the events.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = nil
}

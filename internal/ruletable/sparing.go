package ruletable

import (
	"fmt"
	"sync"
	"time"
)

// sparing reports failures of one kind: the first at once, and then one in ten seconds with how many it stands for. While
// a table does not answer, every request meets a failure, and a line for each would cost more than the requests.
type sparing struct {
	report func(error)

	mu   sync.Mutex
	told time.Time
	held int // since then
}

func (s *sparing) add(now time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fresh(s.told, now) {
		s.held++
		return
	}
	if s.held > 0 {
		err = fmt.Errorf("%w (and %d more like it since the last report)", err, s.held)
	}
	s.told, s.held = now, 0
	s.report(err)
}

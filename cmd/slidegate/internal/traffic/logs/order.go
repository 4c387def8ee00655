package logs

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"time"
)

// Order is the order in which recorded requests are decided, by its name on the
// command line.
type Order string

const (
	// ByTime merges all logs by time. Apache logs a request when it ends, with
	// the time at which it began, so lines are often out of order: the lines of
	// each log wait in a buffer for earlier ones. Requests of the same time stay
	// in the order of the logs and their lines.
	//
	// A line is late if more than a buffer of lines is between it and its place.
	// It is decided at its own time when it is read, as AsLogged decides it.
	ByTime Order = "time"
	// AsLogged keeps the order of the logs and their lines. The clock goes back
	// where a line is earlier than the one before it.
	AsLogged Order = "file"
)

const (
	// maxBuffer bounds the memory that the waiting lines of a log take, and
	// maxBuffers that of all logs, about. The garbage collector doubles it.
	maxBuffer, maxBuffers = 64 << 20, 128 << 20
	// perLine is what a line takes beside its text.
	perLine = 300
	// maxChunk is how many lines are sorted at once.
	maxChunk = 256
	// minBuffer is what each of very many logs has. Few of them are open at once.
	minBuffer = 64 << 10
	// Of more than fewLogs, a log is opened openAhead before its first request is
	// due, so that a month of files of five minutes needs few open files. A
	// request that is more than openAhead earlier than the first of its log may
	// come late then.
	fewLogs, openAhead = 32, time.Hour
)

// reading is recorded traffic that is being read.
type reading struct {
	*Traffic
	extent *Extent
	visit  func(context.Context, *Entry) error
	at     Progress
	logs   []*logReader
	queue  queue
	fields fields
}

// Each calls visit with each request, and ends with its first error, the
// context's, ErrUnreadable, or a failure to read a log. It records in extent how
// the requests were read; visit counts them there.
func (t *Traffic) Each(ctx context.Context, extent *Extent, visit func(context.Context, *Entry) error) error {
	r := &reading{Traffic: t, extent: extent, visit: visit, at: Progress{Size: totalSize(t.Logs)}}
	extent.Order = cmp.Or(t.Order, ByTime)
	for i := range t.Logs {
		r.logs = append(r.logs, newLogReader(i, len(t.Logs), &t.Logs[i], t.Warn))
	}
	defer func() {
		for _, l := range r.logs {
			l.close()
		}
		extent.Fields = r.fields.sorted()
	}()
	inOrder := r.byTime
	if extent.Order == AsLogged {
		inOrder = r.asLogged
	}
	if err := inOrder(ctx); err != nil {
		return err
	}
	if extent.Requests == 0 && extent.Skipped > 0 {
		return ErrUnreadable
	}
	return nil
}

// asLogged reads one log after another.
func (r *reading) asLogged(ctx context.Context) error {
	for _, l := range r.logs {
		for {
			one, err := r.next(ctx, l)
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				err = r.decide(ctx, one)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// byTime reads each log until its buffer is full. Then it takes the earliest
// line of all, and reads on in that line's log.
func (r *reading) byTime(ctx context.Context) error {
	unopened, err := r.unopened(ctx)
	if err != nil {
		return err
	}
	var now time.Time
	for {
		for len(unopened) > 0 && (len(r.queue) == 0 || !unopened[0].start.Add(-openAhead).After(r.queue[0].requests[0].time)) {
			if err := r.fill(ctx, unopened[0]); err != nil {
				return err
			}
			unopened = unopened[1:]
		}
		if len(r.queue) == 0 {
			return nil
		}
		one, log := r.queue.next()
		if one.time.Before(now) {
			r.extent.Late++
		} else {
			now = one.time
		}
		if err := r.decide(ctx, one); err != nil {
			return err
		}
		if err := r.fill(ctx, log); err != nil {
			return err
		}
	}
}

// unopened returns the logs by their first requests.
func (r *reading) unopened(ctx context.Context) ([]*logReader, error) {
	all := slices.Clone(r.logs)
	if len(all) <= fewLogs {
		return all, nil
	}
	for _, l := range all {
		if err := l.probe(ctx); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b *logReader) int { return a.start.Compare(b.start) })
	return all, nil
}

// fill reads a log until its buffer is full.
func (r *reading) fill(ctx context.Context, l *logReader) error {
	buffer := min(cmp.Or(r.buffer, maxBuffer), max(minBuffer, maxBuffers/len(r.logs)))
	for l.waiting < buffer && !l.ended {
		c := &chunk{log: l, number: l.chunks}
		l.chunks++
		for len(c.requests) < maxChunk && l.waiting < buffer {
			one, err := r.next(ctx, l)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			c.requests = append(c.requests, one)
			l.waiting += one.bytes
		}
		r.queue.add(c)
	}
	return nil
}

// next reads the next request of a log. It counts lines that cannot be read or
// are out of order. The error is io.EOF after the last line.
func (r *reading) next(ctx context.Context, l *logReader) (*record, error) {
	for {
		line, err := l.next(ctx, &r.at.Read)
		one, found := &record{bytes: len(line) + perLine}, false
		if err == nil {
			if found, err = l.parseLine(line, one); err != nil {
				err = &LineError{l.Name, l.number, err}
			}
		}
		if unreadable, skip := errors.AsType[*LineError](err); skip {
			r.extent.Skipped++
			if first := r.extent.FirstSkipped; first == nil || errors.Is(first.Err, errUnknown) && !errors.Is(unreadable.Err, errUnknown) {
				r.extent.FirstSkipped = unreadable
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if found {
			r.fields.see(one)
			if one.time.Before(l.last) {
				r.extent.OutOfOrder++
			}
			l.last = one.time
			return one, nil
		}
	}
}

// decide has a request decided, and reports the progress.
func (r *reading) decide(ctx context.Context, one *record) error {
	err := ctx.Err()
	if err == nil {
		err = r.visit(ctx, one.entry())
	}
	if err != nil {
		return err
	}
	r.at.Requests++
	r.at.At = one.time
	if r.Progress != nil {
		r.Progress(r.at)
	}
	return nil
}

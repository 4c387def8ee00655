package logs

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"sync"
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
	// maxBuffer bounds the lines of a log that wait, and maxBuffers those of all
	// logs, in bytes of their text. They take about as much memory, and the
	// garbage collector doubles it.
	maxBuffer, maxBuffers = 64 << 20, 128 << 20
	// minBuffer is what each of very many logs has. Few of them are open at once.
	minBuffer = 64 << 10
	// Of more than fewLogs, a log is opened openAhead before its first request is
	// due, so that a month of files of five minutes needs few open files. A
	// request that is more than openAhead earlier than the first of its log may
	// come late then.
	fewLogs, openAhead = 32, int64(time.Hour)
	// maxBatch is how many sorted requests are handed over at once.
	// batchesAhead bounds the batches that are read before they are needed.
	maxBatch, batchesAhead = 256, 4
)

// reading is recorded traffic that is being read.
type reading struct {
	*Traffic
	extent  *Extent
	at      Progress
	batches sync.Pool

	// The goroutine that reads has these.
	logs    []*logReader
	bytes   byteCount // of all logs as stored that were read so far
	queue   queue
	record  record // of a line
	encoded []byte // records of a chunk
	fields  fields
	batch   *batch // that is being filled
	yield   func(*batch, error) bool
}

// batch is requests that one goroutine hands over to another, and what was read
// since the batch before. Batches are reused with all that their records hold.
type batch struct {
	records  []record
	read     int64    // bytes of all logs as stored that were read so far
	warnings []string // of the logs' formats
	counts   Extent   // of lines that were skipped, out of order or late
}

// add adds a record, which may hold what is to be reused.
func (b *batch) add() *record {
	n := len(b.records)
	b.records = slices.Grow(b.records, 1)[:n+1]
	return &b.records[n]
}

func (b *batch) skip(err *LineError) {
	b.counts.Skipped++
	b.counts.FirstSkipped = cmp.Or(b.counts.FirstSkipped, err)
}

func newReading(t *Traffic, extent *Extent) *reading {
	extent.Order = cmp.Or(t.Order, ByTime)
	return &reading{Traffic: t, extent: extent, at: Progress{Size: totalSize(t.Logs)}}
}

// progress reports a request that was decided.
func (r *reading) progress(at time.Time) {
	r.at.Requests++
	r.at.At = at
	if r.Progress != nil {
		r.Progress(r.at)
	}
}

// entries yields the requests in the order of the traffic. An error is the
// last. It records in the extent how many lines cannot be read, are out of order
// or are late. An entry is valid until the next one.
func (r *reading) entries(ctx context.Context) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		var e Entry
		for b, err := range ahead(ctx, batchesAhead, r.read) {
			if err != nil {
				yield(nil, err)
				return
			}
			r.took(b)
			for i := range b.records {
				b.records[i].fill(&e)
				if !yield(&e, nil) {
					return
				}
			}
			r.batches.Put(b)
		}
	}
}

// took records what came with a batch.
func (r *reading) took(b *batch) {
	r.at.Read = b.read
	r.extent.Skipped += b.counts.Skipped
	r.extent.FirstSkipped = cmp.Or(r.extent.FirstSkipped, b.counts.FirstSkipped)
	r.extent.OutOfOrder += b.counts.OutOfOrder
	r.extent.Late += b.counts.Late
	for _, text := range b.warnings {
		if r.Warn != nil {
			r.Warn(text)
		}
	}
}

// read yields the requests of all logs in batches. An error is the last.
func (r *reading) read(ctx context.Context) iter.Seq2[*batch, error] {
	return func(yield func(*batch, error) bool) {
		r.yield = yield
		r.newBatch()
		for i := range r.Logs {
			r.logs = append(r.logs, newLogReader(i, len(r.Logs), &r.Logs[i], func(text string) { r.batch.warnings = append(r.batch.warnings, text) }))
		}
		defer func() {
			for _, l := range r.logs {
				l.close()
			}
		}()
		inOrder := r.byTime
		if r.extent.Order == AsLogged {
			inOrder = r.asLogged
		}
		switch err := inOrder(ctx); {
		case errors.Is(err, errStopped):
		case err != nil:
			_ = r.flush() == nil && yield(nil, err)
		default:
			_ = r.flush()
		}
	}
}

// errStopped ends reading when the requests are no longer wanted.
var errStopped = errors.New("stopped")

// flush hands over the batch.
func (r *reading) flush() error {
	b := r.batch
	b.read = int64(r.bytes)
	r.newBatch()
	if !r.yield(b, nil) {
		return errStopped
	}
	return nil
}

func (r *reading) newBatch() {
	b, ok := r.batches.Get().(*batch)
	if !ok {
		b = &batch{}
	}
	*b = batch{records: b.records[:0]}
	r.batch = b
}

// asLogged reads one log after another. It hands over what was read at once.
func (r *reading) asLogged(ctx context.Context) error {
	for _, l := range r.logs {
		for !l.ended {
			c, err := r.readChunk(ctx, l)
			if err != nil {
				return err
			}
			for i := range c.lines {
				c.decode(&c.lines[i], r.batch.add())
			}
			if err := r.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// byTime reads each log until its buffer is full. Then it takes the earliest
// line of all, and reads on in that line's log.
func (r *reading) byTime(ctx context.Context) error {
	buffer := min(cmp.Or(r.buffer, maxBuffer), max(minBuffer, maxBuffers/max(1, len(r.logs))))
	unopened, err := r.unopened(ctx)
	if err != nil {
		return err
	}
	now := int64(math.MinInt64)
	for {
		for len(unopened) > 0 && (len(r.queue) == 0 || unopened[0].start-openAhead <= r.queue[0].lines[0].at) {
			if err := r.fill(ctx, unopened[0], buffer); err != nil {
				return err
			}
			unopened = unopened[1:]
		}
		if len(r.queue) == 0 {
			return nil
		}
		c, line := r.queue.next()
		if line.at < now {
			r.batch.counts.Late++
		}
		now = max(now, line.at)
		c.decode(line, r.batch.add())
		if len(r.batch.records) == maxBatch {
			if err := r.flush(); err != nil {
				return err
			}
		}
		if err := r.fill(ctx, c.log, buffer); err != nil {
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
	slices.SortStableFunc(all, func(a, b *logReader) int { return cmp.Compare(a.start, b.start) })
	return all, nil
}

// fill reads a log until its buffer is full.
func (r *reading) fill(ctx context.Context, l *logReader, buffer int) error {
	for l.waiting < buffer && !l.ended {
		c, err := r.readChunk(ctx, l)
		if err != nil {
			return err
		}
		r.queue.add(c)
		if len(r.batch.warnings) > 0 { // shown while a log is still being written
			if err := r.flush(); err != nil {
				return err
			}
		}
		if l.held-l.waiting > buffer {
			r.queue.compact(l)
		}
	}
	return nil
}

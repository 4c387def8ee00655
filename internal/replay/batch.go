package replay

import (
	"context"
	"errors"
	"iter"
	"strings"
)

const (
	// blocksAhead and batchesAhead bound what is read and parsed before it is
	// needed.
	blocksAhead, batchesAhead = 4, 4
	// sortedBatch is how many sorted requests are handed over at once.
	sortedBatch = 256
)

// batch is requests that one goroutine hands over to another. Batches are reused
// with all that their entries hold.
type batch struct {
	warnings []string // of the log's format
	lines    []parsed
	records  string // encoded, of lines that are to be sorted
	read     int64  // bytes of all logs as stored that were read so far
}

// parsed is a line that has a request, or that cannot be read.
type parsed struct {
	at         int64      // Unix nanoseconds
	entry      Entry      // if it is decided next
	start, end int        // of its record in the batch's records, if it is to be sorted first
	err        *LineError // nil for a request
}

// add adds a line, which has an old entry to reuse.
func (b *batch) add() *parsed {
	n := len(b.lines)
	if n < cap(b.lines) {
		b.lines = b.lines[:n+1]
	} else {
		b.lines = append(b.lines, parsed{})
	}
	b.lines[n].err = nil
	return &b.lines[n]
}

func (r *reading) newBatch() *batch {
	b, ok := r.batches.Get().(*batch)
	if !ok {
		return &batch{}
	}
	b.lines, b.records = b.lines[:0], ""
	return b
}

// parsed yields the lines of all logs in batches. An error is the last.
func (r *reading) parsed(ctx context.Context) iter.Seq2[*batch, error] {
	return ahead(ctx, batchesAhead, func(ctx context.Context) iter.Seq2[*batch, error] {
		return func(yield func(*batch, error) bool) {
			for text, err := range ahead(ctx, blocksAhead, r.blocks) {
				b := r.newBatch()
				if unreadable, ok := errors.AsType[*LineError](err); ok {
					b.add().err = unreadable
				} else if err != nil {
					yield(nil, err)
					return
				}
				r.parse(b, &text)
				if !yield(b, nil) {
					return
				}
			}
		}
	})
}

// parse adds the lines of a block to a batch.
func (r *reading) parse(b *batch, from *block) {
	number := from.first
	r.encoded = r.encoded[:0]
	for text := range strings.Lines(from.text) {
		r.parseLine(b, from.log, number, text)
		number++
	}
	b.records = string(r.encoded)
	b.read = from.read
	b.warnings, r.warnings = r.warnings, nil
}

func (r *reading) parseLine(b *batch, log int, number int64, text string) {
	var err error
	size := len(text)
	for text != "" && (text[len(text)-1] == '\n' || text[len(text)-1] == '\r') {
		text = text[:len(text)-1]
	}
	if text == "" {
		return
	}
	found := false
	if size > maxLine {
		err = errLong
	} else {
		found, err = r.parsers[log](text, &r.record)
	}
	switch {
	case err != nil:
		b.add().err = &LineError{r.Logs[log].Name, number, err}
	case found:
		l := b.add()
		l.at = r.record.time.UnixNano()
		if r.extent.Order == AsLogged {
			r.record.fill(&l.entry)
			return
		}
		l.start = len(r.encoded)
		r.encoded = r.record.encode(r.encoded)
		l.end = len(r.encoded)
	}
}

// sorted yields the requests of a sorter in batches. An error is the last.
func (r *reading) sorted(ctx context.Context, s *sorter) iter.Seq2[*batch, error] {
	return ahead(ctx, batchesAhead, func(context.Context) iter.Seq2[*batch, error] {
		return func(yield func(*batch, error) bool) {
			b := r.newBatch()
			for l, err := range s.sorted() {
				if err != nil {
					_ = yield(b, nil) && yield(nil, err)
					return
				}
				r.record.decode(l.at, l.text)
				r.record.fill(&b.add().entry)
				if len(b.lines) == sortedBatch {
					if !yield(b, nil) {
						return
					}
					b = r.newBatch()
				}
			}
			yield(b, nil)
		}
	})
}

package logs

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"strings"
	"time"
)

// chunk is requests of a log, from lines that were read at once. Few pointers
// are in it, or the garbage collector would spend more time on waiting lines
// than the parser.
type chunk struct {
	log    *logReader
	number int64         // of the first line
	lines  []waitingLine // that wait
	fields string        // of all lines, encoded
	rare   []rareFields
	bytes  int // of all lines in the log
}

// waitingLine is a line that has a request.
type waitingLine struct {
	at         int64 // Unix nanoseconds
	start, end int32 // of its fields in those of the chunk
	rare       int32 // index in the chunk's rare fields, from 1; 0 for none
	bytes      int32 // of the line in the log
	status     status
}

// readChunk reads the next lines of a log. It counts lines that cannot be read
// or are out of order. The chunk is empty if none of the lines has a request.
func (r *reading) readChunk(ctx context.Context, l *logReader) (*chunk, error) {
	c := &chunk{log: l}
	if err := ctx.Err(); err != nil {
		return c, err
	}
	text, number, err := l.next(ctx, &r.bytes)
	unreadable, skip := errors.AsType[*LineError](err)
	switch {
	case skip:
		r.batch.skip(unreadable)
		return c, nil
	case errors.Is(err, io.EOF):
		return c, nil
	case err != nil:
		return c, err
	}
	c.number = number
	r.encoded = r.encoded[:0]
	for line := range strings.Lines(text) {
		switch found, err := l.parseLine(line, &r.record); {
		case err != nil:
			r.batch.skip(&LineError{l.Name, number, err})
		case found:
			r.add(c, len(line))
		}
		number++
	}
	c.fields = string(r.encoded)
	return c, nil
}

// add adds the record to a chunk.
func (r *reading) add(c *chunk, bytes int) {
	r.fields.see(&r.record)
	at := r.record.time.UnixNano()
	if at < c.log.last {
		r.batch.counts.OutOfOrder++
	}
	c.log.last = at
	start := len(r.encoded)
	r.encoded = r.record.encode(r.encoded)
	c.lines = append(c.lines, waitingLine{at, int32(start), int32(len(r.encoded)), c.addRare(r.record.rareFields), int32(bytes), r.record.Status})
	c.bytes += bytes
}

func (c *chunk) addRare(of rareFields) int32 {
	if of.Claims == nil && of.Stage == "" && of.PathParams == nil {
		return 0
	}
	c.rare = append(c.rare, of)
	return int32(len(c.rare))
}

func (c *chunk) rareOf(l *waitingLine) (of rareFields) {
	if l.rare > 0 {
		of = c.rare[l.rare-1]
	}
	return of
}

// encode appends a checked record without its time, its status and its rare fields.
func (r *record) encode(b []byte) []byte {
	ip := r.IP
	if !r.addr.IsValid() {
		ip = ""
	}
	for _, field := range [...]string{ip, r.Method, r.Target, r.Route, r.APIKey} {
		b = appendField(b, field)
	}
	for _, h := range r.headers {
		b = appendField(appendField(b, h.name), h.value)
	}
	return b
}

func appendField(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// decode puts the request of a line into a record.
func (c *chunk) decode(l *waitingLine, r *record) {
	d := decoder(c.fields[l.start:l.end])
	*r = record{
		time: time.Unix(0, l.at).UTC(), Status: l.status, headers: r.headers[:0], rareFields: c.rareOf(l),
		IP: d.field(), Method: d.field(), Target: d.field(), Route: d.field(), APIKey: d.field(),
	}
	if r.IP != "" {
		r.addr, _ = netip.ParseAddr(r.IP)
	}
	for d != "" {
		r.headers = append(r.headers, header{d.field(), d.field()})
	}
}

// decoder is the rest of an encoded record.
type decoder string

// field reads a varint and as many bytes.
func (d *decoder) field() string {
	n, i := 0, 0
	for shift := 0; ; shift += 7 {
		b := (*d)[i]
		n |= int(b&0x7f) << shift
		i++
		if b < 0x80 {
			break
		}
	}
	text := (*d)[i : i+n]
	*d = (*d)[i+n:]
	return string(text)
}

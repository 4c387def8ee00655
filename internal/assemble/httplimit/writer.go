package httplimit

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// Writer returns the recorder as a handler gets it. It is an http.Flusher,
// http.Hijacker, http.Pusher and io.ReaderFrom where the server's writer is: a
// handler that finds an interface counts on it. Of combinations that no server
// has, it offers a part; http.ResponseController finds the rest.
func (w *Recorder) Writer() http.ResponseWriter {
	_, f := find[http.Flusher](w.ResponseWriter)
	_, h := find[http.Hijacker](w.ResponseWriter)
	push, p := find[http.Pusher](w.ResponseWriter)
	_, r := w.ResponseWriter.(io.ReaderFrom) // of the next writer: one between must see the body
	switch {
	case f && h && r: // HTTP/1
		return struct {
			*Recorder
			flusher
			hijacker
			readerFrom
		}{w, flusher{w}, hijacker{w}, readerFrom{w}}
	case f && h:
		return struct {
			*Recorder
			flusher
			hijacker
		}{w, flusher{w}, hijacker{w}}
	case f && p: // HTTP/2
		return struct {
			*Recorder
			flusher
			http.Pusher
		}{w, flusher{w}, push}
	case f:
		return struct {
			*Recorder
			flusher
		}{w, flusher{w}}
	case p: // http.TimeoutHandler
		return struct {
			*Recorder
			http.Pusher
		}{w, push}
	}
	return w
}

// find returns the first writer with an interface, from w to the server's.
func find[T any](w http.ResponseWriter) (t T, found bool) {
	for {
		if t, found = w.(T); found {
			return t, true
		}
		inner, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return t, false
		}
		w = inner.Unwrap()
	}
}

type flusher struct{ of *Recorder }

// Flush is FlushError for handlers that ask for an http.Flusher.
func (f flusher) Flush() { _ = f.of.FlushError() }

type hijacker struct{ of *Recorder }

// Hijack hands the connection to the handler, as websockets need it. The status
// that the handler then writes is not known.
func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(h.of.ResponseWriter).Hijack()
	h.of.hijacked = h.of.hijacked || err == nil
	return conn, buffers, err
}

type readerFrom struct{ of *Recorder }

// ReadFrom lets net/http copy a file without a buffer of the program's.
func (f readerFrom) ReadFrom(r io.Reader) (int64, error) {
	f.of.begin()
	return io.Copy(f.of.ResponseWriter, r)
}

package limitlambda

import (
	"bytes"
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slidegate/slidegate/internal/decide/headers"
)

// writer collects the limiter's own answer, or the head of the handler's.
type writer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *writer) Header() http.Header         { return w.header }
func (w *writer) WriteHeader(status int)      { w.status = status }
func (w *writer) Write(p []byte) (int, error) { return w.body.Write(p) }

// fields are the fields of an answer of any kind. Those that it does not have are
// nowhere.
type fields struct {
	status      *int
	description *string
	headers     *map[string]string
	multi       *map[string][]string
	body        *string
	multiOnly   bool // AWS reads multi alone
}

// fieldsOf returns the fields of an answer; answer is a pointer to a response type.
func fieldsOf(answer any, multiOnly bool) *fields {
	switch a := answer.(type) {
	case *events.APIGatewayProxyResponse:
		return &fields{&a.StatusCode, new(string), &a.Headers, &a.MultiValueHeaders, &a.Body, false}
	case *events.APIGatewayV2HTTPResponse:
		return &fields{&a.StatusCode, new(string), &a.Headers, &a.MultiValueHeaders, &a.Body, false}
	case *events.LambdaFunctionURLResponse:
		return &fields{&a.StatusCode, new(string), &a.Headers, new(map[string][]string), &a.Body, false}
	case *events.ALBTargetGroupResponse:
		return &fields{&a.StatusCode, &a.StatusDescription, &a.Headers, &a.MultiValueHeaders, &a.Body, multiOnly}
	}
	panic("limitlambda: unknown answer") // Response lists them
}

// validStatus returns the status of a handler's answer, or what clients get in
// place of an answer without one.
func (f *fields) validStatus(failed int) int {
	if *f.status < 200 || *f.status > 999 {
		return failed
	}
	return *f.status
}

// header returns the answer's header. AWS merges both maps, which may spell a name
// in several ways.
func (f *fields) header() http.Header {
	h := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(*f.headers)) {
		h.Add(name, (*f.headers)[name])
	}
	for _, name := range slices.Sorted(maps.Keys(*f.multi)) {
		canonical := http.CanonicalHeaderKey(name)
		h[canonical] = append(h[canonical], (*f.multi)[name]...)
	}
	return h
}

// merge changes the answer's header to what the limiter made of it. Other fields
// stay as the handler wrote them. The handler's maps may belong to several answers,
// so that they are copied first.
func (f *fields) merge(to http.Header) {
	from := f.header()
	*f.headers, *f.multi = maps.Clone(*f.headers), maps.Clone(*f.multi)
	for name := range from {
		if _, kept := to[name]; !kept {
			f.remove(name)
		}
	}
	for name, values := range to {
		if !slices.Equal(from[name], values) {
			f.remove(name)
			f.set(name, values)
		}
	}
}

func (f *fields) remove(name string) {
	maps.DeleteFunc(*f.headers, func(n, _ string) bool { return strings.EqualFold(n, name) })
	maps.DeleteFunc(*f.multi, func(n string, _ []string) bool { return strings.EqualFold(n, name) })
}

// spelled are the fields of limits as documents write them, by their canonical
// names. API Gateway passes names on as they are.
var spelled = func() map[string]string {
	names := map[string]string{}
	for name := range strings.SplitSeq(headers.Exposed, ",") {
		names[http.CanonicalHeaderKey(name)] = name
	}
	return names
}()

// set adds a field that the answer does not have.
func (f *fields) set(name string, values []string) {
	name = cmp.Or(spelled[name], name)
	if f.multiOnly {
		if *f.multi == nil {
			*f.multi = map[string][]string{}
		}
		(*f.multi)[name] = values
		return
	}
	if *f.headers == nil {
		*f.headers = map[string]string{}
	}
	(*f.headers)[name] = strings.Join(values, ", ")
}

// answer makes the limiter's own answer of what it wrote.
func (f *fields) answer(w *writer) {
	status := cmp.Or(w.status, http.StatusOK)
	*f.status, *f.body = status, w.body.String()
	*f.description = strconv.Itoa(status) + " " + http.StatusText(status)
	for name, values := range w.header {
		f.set(name, values)
	}
}

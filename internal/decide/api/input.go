package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slidegate/slidegate/internal/request"
)

// request reads the members of Decisions and Usage. The names are those of
// recorded requests in JSON Lines, and id.
func (f *fields) request() *request.Request {
	target := f.string("path")
	req := &request.Request{
		Method: f.string("method"), Route: f.string("route"), Stage: f.string("stage"), IP: f.address("ip"),
		Headers: f.headers("headers"), PathParams: f.strings("path_params"),
		Claims: take[map[string]any](f, "jwt", "the claims of a token, an object, and not the token itself"), APIKey: f.string("apikey"), Rejected: f.boolean("rejected"),
		Reserve: &request.Reserve{ID: f.id("id")}, NoOperation: true,
	}
	f.refuseOthers()
	if req.SetTarget(target); !req.IP.IsValid() {
		req.Missing = &request.Missing{Event: "the request", Instead: "add ip, the address of the client", Address: true}
	}
	switch {
	case !request.IsMethod(req.Method):
		f.fail("/method", "want the method of the client's request, such as GET")
	case target == "" || !strings.HasPrefix(req.Path, "/"):
		f.fail("/path", "want the target of the client's request as it was sent, such as /v1/items?page=2")
	case req.Rejected && (req.APIKey != "" || req.Claims != nil):
		f.fail("/rejected", "credentials that are not valid say nothing: leave out jwt and apikey")
	}
	return req
}

// readObject reads a JSON object.
func readObject(body []byte) (map[string]any, *Problem) {
	const want = `want a JSON object, such as {"method": "GET", "path": "/v1/items", "ip": "203.0.113.9"}`
	if len(body) > MaxBody {
		return nil, NewProblem(http.StatusRequestEntityTooLarge,
			"the body is larger than %d bytes: leave out headers and claims that the rules do not read", MaxBody)
	}
	if !utf8.Valid(body) {
		return nil, badRequest("", "the body is not UTF-8, as JSON has to be")
	}
	object, err := request.ParseObject(body)
	if err == nil {
		return object, nil
	}
	if twice, ok := errors.AsType[*request.RepeatedError](err); ok {
		return nil, badRequest(twice.Pointer(), "the name is there twice: remove one of them")
	}
	if errors.Is(err, request.ErrNoObject) {
		return nil, badRequest("", want)
	}
	at := int64(0)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = syntax.Offset
	}
	return nil, badRequest("", fmt.Sprintf("the body is no JSON: %v at byte %d: %s", err, at, want))
}

// fields takes the members of an object, and keeps the first problem.
type fields struct {
	object  map[string]any
	names   []string // of the members that the call takes
	problem *Problem
}

func (f *fields) fail(pointer, detail string) {
	if f.problem == nil {
		f.problem = badRequest(pointer, strings.ReplaceAll(pointer[1:], "/", ".")+": "+detail)
	}
}

// refuseOthers refuses members that the call does not take: a misspelled name would
// count requests by another key, or settle another cost.
func (f *fields) refuseOthers() {
	for _, name := range f.names {
		delete(f.object, name)
	}
	for _, name := range slices.Sorted(maps.Keys(f.object)) {
		f.fail("/"+request.EscapePointer(name), fmt.Sprintf("there is no such name: the names are %s", strings.Join(f.names, ", ")))
	}
}

// take returns a member of a type, and its zero value if it is missing.
func take[T any](f *fields, name, want string) (value T) {
	f.names = append(f.names, name)
	if member, ok := f.object[name]; ok {
		if value, ok = member.(T); !ok {
			f.fail("/"+name, "want "+want)
		}
	}
	return value
}

func (f *fields) string(name string) string { return take[string](f, name, "a string") }

func (f *fields) boolean(name string) bool { return take[bool](f, name, "true or false") }

// maxID bounds the caller's own name for a decision, in characters.
const maxID = 128

// id reads the caller's own name for a decision. An unpaired surrogate, which JSON
// can write, would make names equal.
func (f *fields) id(name string) string {
	id := f.string(name)
	unfit := func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }
	if _, stated := f.object[name]; stated && (id == "" || utf8.RuneCountInString(id) > maxID || strings.ContainsFunc(id, unfit)) {
		f.fail("/"+name, fmt.Sprintf("want 1 to %d characters, none of them a control character", maxID))
	}
	return id
}

// whole returns a number of the body.
func (f *fields) whole(pointer string, value any, least, most int64) int64 {
	number, _ := value.(json.Number)
	n, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil || n < least || n > most {
		f.fail(pointer, fmt.Sprintf("want a whole number from %d to %d", least, most))
	}
	return n
}

// units reads an object of numbers.
func (f *fields) units(name string, most int64) map[string]int64 {
	object, units := take[map[string]any](f, name, "an object of whole numbers"), map[string]int64{}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		units[key] = f.whole("/"+name+"/"+request.EscapePointer(key), object[key], 0, most)
	}
	return units
}

func (f *fields) address(name string) (ip netip.Addr) {
	sent := f.string(name)
	if sent == "" {
		return ip
	}
	if ip = request.ParseAddr(sent); !ip.IsValid() {
		f.fail("/"+name, "want an IPv4 or IPv6 address, such as 203.0.113.9")
	}
	return ip
}

func (f *fields) strings(name string) map[string]string {
	values := map[string]string{}
	for key, value := range take[map[string]any](f, name, "an object of strings") {
		member, ok := value.(string)
		if !ok {
			f.fail("/"+name+"/"+request.EscapePointer(key), "want a string")
		}
		values[key] = member
	}
	return values
}

// headers takes an object whose values are strings or lists of strings.
func (f *fields) headers(name string) map[string][]string {
	values := map[string][]string{}
	for key, value := range take[map[string]any](f, name, "an object of strings or lists of strings") {
		items, ok := value.([]any)
		if !ok {
			items = []any{value}
		}
		for _, item := range items {
			member, ok := item.(string)
			if !ok {
				f.fail("/"+name+"/"+request.EscapePointer(key), "want a string or a list of strings")
			}
			values[key] = append(values[key], member)
		}
	}
	return values
}

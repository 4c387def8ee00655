package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"

	"github.com/slidegate/slidegate/internal/pathtest"
)

// backends say by which of the places a request is answered, "" for none, each
// as one that is in use reads its path.
var backends = map[string]func(*http.Request) string{
	// A server in Go. http.ServeMux cuts a path into segments and then decodes
	// each. It redirects to the clean path, but takes escaped dots for names,
	// and cleans nothing where the method is CONNECT.
	"net/http": func(r *http.Request) string {
		answer := httptest.NewRecorder()
		placesMux.ServeHTTP(answer, r)
		return answer.Header().Get("place")
	},
	// Servers that decode the path, cut it and leave it at that, as those of
	// Python's ASGI do.
	"decode": func(r *http.Request) string { return placeOf(r.URL.Path) },
	// NGINX and what stands behind it: the path is decoded, and cleaned.
	"decode, clean": func(r *http.Request) string { return placeOf(path.Clean("/" + r.URL.Path)) },
	// The same where it does not merge slashes, and where one behind it does.
	"decode, remove dots": func(r *http.Request) string { return placeOf(pathtest.RemoveDotSegments(r.URL.Path)) },
	"decode, remove dots, merge": func(r *http.Request) string {
		return placeOf(pathtest.MergeSlashes(pathtest.RemoveDotSegments(r.URL.Path)))
	},
	// Tomcat where it lets them pass, and others: the same, but an escaped
	// slash stays as it is.
	"decode but slashes, clean":       func(r *http.Request) string { return placeOf(path.Clean("/" + butSlashes(r.URL))) },
	"decode but slashes, remove dots": func(r *http.Request) string { return placeOf(pathtest.RemoveDotSegments(butSlashes(r.URL))) },
	// Tomcat and Jetty: parameters are pathtest.DropParameters from segments,
	// then the path is decoded and cleaned, or its dots removed.
	"drop parameters, decode, clean": func(r *http.Request) string {
		return placeOf(path.Clean("/" + decoded(pathtest.DropParameters(r.URL.EscapedPath()))))
	},
	"drop parameters, decode, remove dots": func(r *http.Request) string {
		return placeOf(pathtest.RemoveDotSegments(decoded(pathtest.DropParameters(r.URL.EscapedPath()))))
	},
	// The same behind a proxy that has decoded the path.
	"decode, drop parameters, clean": func(r *http.Request) string { return placeOf(path.Clean("/" + pathtest.DropParameters(r.URL.Path))) },
	// What is written for Windows.
	"decode, turn backslashes, clean": func(r *http.Request) string {
		return placeOf(path.Clean("/" + strings.ReplaceAll(r.URL.Path, `\`, "/")))
	},
}

// proxies change what was sent, before a backend or its own router gets it, and
// decode nothing.
var proxies = map[string]func(sent string) string{
	"":                           func(sent string) string { return sent },
	"remove dots: ":              pathtest.RemoveDotSegments,                                                                  // HAProxy
	"remove dots, also as %2e: ": func(sent string) string { return pathtest.RemoveDotSegments(pathtest.UnescapeDots(sent)) }, // Envoy
	"clean: ":                    path.Clean,                                                                                  // Traefik
	"clean, with dots as %2e: ":  func(sent string) string { return path.Clean(pathtest.UnescapeDots(sent)) },                 // Apache httpd
	"url.ResolveReference: ":     resolved,
	"URL of the URL Standard: ": func(sent string) string {
		return pathtest.RemoveDotSegments(pathtest.UnescapeDots(pathtest.DropHost(sent)))
	}, // Node.js
	"urlparse of Python: ": pathtest.DropHost,
	"remove dots, also as %2e, merge: ": func(sent string) string {
		return pathtest.MergeSlashes(pathtest.RemoveDotSegments(pathtest.UnescapeDots(sent)))
	},
}

// answeredAt returns the places that may answer a request, and their servers.
// It evaluates a path that two proxies pass on only once.
func answeredAt(r *http.Request, tell func(by, place string)) {
	seen := map[string]bool{}
	for proxy, change := range proxies {
		passed := *r
		if sent := r.URL.EscapedPath(); strings.HasPrefix(sent, "/") {
			path := change(sent)
			passed.URL = &url.URL{Path: decoded(path), RawPath: path}
		}
		if seen[passed.URL.EscapedPath()] {
			continue
		}
		seen[passed.URL.EscapedPath()] = true
		for backend, place := range backends {
			tell(proxy+backend, place(&passed))
		}
	}
}

// resolved is what Go makes of a reference.
func resolved(sent string) string {
	reference, err := url.Parse(sent)
	if err != nil {
		return sent
	}
	return (&url.URL{Scheme: "http", Host: "backend", Path: "/"}).ResolveReference(reference).EscapedPath()
}

func butSlashes(u *url.URL) string {
	return decoded(strings.NewReplacer("%2f", "%252F", "%2F", "%252F").Replace(u.EscapedPath()))
}

// decoded decodes what is known to be well escaped.
func decoded(p string) string {
	text, err := url.PathUnescape(p)
	if err != nil {
		panic(err)
	}
	return text
}

// placesMux answers with the place in a field.
var placesMux = func() *http.ServeMux {
	mux := http.NewServeMux()
	for place := range places {
		mux.HandleFunc(place, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("place", place) })
	}
	return mux
}()

// placeOf matches the segments of a path unchanged.
func placeOf(p string) string {
	s := strings.Split(strings.TrimPrefix(p, "/"), "/")
	switch n := len(s); {
	case s[0] == "admin" || s[0] == "static":
		if n == 1 {
			return "/" + s[0]
		}
		return "/" + s[0] + "/"
	case s[0] == "health" && n == 1:
		return "/health"
	case s[0] == "one" && n == 2 && s[1] != "":
		return "/one/{id}"
	case s[0] == "one" && n == 3 && s[1] != "" && s[2] == "deep":
		return "/one/{id}/deep"
	}
	return "/"
}

package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"

	"github.com/slidegate/slidegate/internal/test/oracle"
)

// backends read paths as servers in use do. Each returns the place that answers
// a request, "" for none.
var backends = map[string]func(*http.Request) string{
	// A server in Go. http.ServeMux splits a path into segments and then decodes
	// each. It redirects to the clean path, but treats escaped dots as names,
	// and cleans no path of the method CONNECT.
	"net/http": func(r *http.Request) string {
		answer := httptest.NewRecorder()
		placesMux.ServeHTTP(answer, r)
		return answer.Header().Get("place")
	},
	// Servers that decode the path and split it, such as ASGI servers in Python.
	"decode": func(r *http.Request) string { return placeOf(r.URL.Path) },
	// Functions that make a URL of the decoded path in an HTTP API's event.
	"decode, end at a number sign": func(r *http.Request) string {
		before, _, _ := strings.Cut(r.URL.Path, "#")
		return placeOf(path.Clean("/" + before))
	},
	// NGINX and the servers behind it get the path decoded and cleaned.
	"decode, clean": func(r *http.Request) string { return placeOf(path.Clean("/" + r.URL.Path)) },
	// NGINX that does not merge slashes, and a server behind it that does.
	"decode, remove dots": func(r *http.Request) string { return placeOf(oracle.RemoveDotSegments(r.URL.Path)) },
	"decode, remove dots, merge": func(r *http.Request) string {
		return placeOf(oracle.MergeSlashes(oracle.RemoveDotSegments(r.URL.Path)))
	},
	// Servers that keep an escaped slash, such as Tomcat if it accepts them.
	"decode but slashes, clean":       func(r *http.Request) string { return placeOf(path.Clean("/" + decodedButSlashes(r.URL))) },
	"decode but slashes, remove dots": func(r *http.Request) string { return placeOf(oracle.RemoveDotSegments(decodedButSlashes(r.URL))) },
	// Tomcat and Jetty: they drop the parameters of segments, decode the path,
	// and clean it or remove its dots.
	"drop parameters, decode, clean": func(r *http.Request) string {
		return placeOf(path.Clean("/" + decoded(oracle.DropParameters(r.URL.EscapedPath()))))
	},
	"drop parameters, decode, remove dots": func(r *http.Request) string {
		return placeOf(oracle.RemoveDotSegments(decoded(oracle.DropParameters(r.URL.EscapedPath()))))
	},
	// Tomcat and Jetty behind a proxy that has decoded the path.
	"decode, drop parameters, clean": func(r *http.Request) string { return placeOf(path.Clean("/" + oracle.DropParameters(r.URL.Path))) },
	// Servers for Windows, where a backslash separates segments too.
	"decode, turn backslashes, clean": func(r *http.Request) string {
		return placeOf(path.Clean("/" + strings.ReplaceAll(r.URL.Path, `\`, "/")))
	},
}

// proxies rewrite the path that was sent before a backend, or their own router,
// reads it. They decode nothing.
var proxies = map[string]func(sent string) string{
	"":                           func(sent string) string { return sent },
	"remove dots: ":              oracle.RemoveDotSegments,                                                                // HAProxy
	"remove dots, also as %2e: ": func(sent string) string { return oracle.RemoveDotSegments(oracle.UnescapeDots(sent)) }, // Envoy
	"clean: ":                    path.Clean,                                                                              // Traefik
	"clean, with dots as %2e: ":  func(sent string) string { return path.Clean(oracle.UnescapeDots(sent)) },               // Apache httpd
	"url.ResolveReference: ":     resolved,
	"URL of the URL Standard: ": func(sent string) string {
		return oracle.RemoveDotSegments(oracle.UnescapeDots(oracle.DropHost(sent)))
	}, // Node.js
	"urlparse of Python: ": oracle.DropHost,
	"remove dots, also as %2e, merge: ": func(sent string) string {
		return oracle.MergeSlashes(oracle.RemoveDotSegments(oracle.UnescapeDots(sent)))
	},
}

// answeredAt returns the places that may answer a request, and their servers.
// It evaluates a path that two proxies pass on only once.
func answeredAt(r *http.Request, report func(server, place string)) {
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
			report(proxy+backend, place(&passed))
		}
	}
}

// resolved resolves a path as a reference, by package url.
func resolved(sent string) string {
	reference, err := url.Parse(sent)
	if err != nil {
		return sent
	}
	return (&url.URL{Scheme: "http", Host: "backend", Path: "/"}).ResolveReference(reference).EscapedPath()
}

// decodedButSlashes decodes all escapes of a path except escaped slashes.
func decodedButSlashes(u *url.URL) string {
	return decoded(strings.NewReplacer("%2f", "%252F", "%2F", "%252F").Replace(u.EscapedPath()))
}

// decoded decodes a path whose escapes are valid.
func decoded(p string) string {
	text, err := url.PathUnescape(p)
	if err != nil {
		panic(err)
	}
	return text
}

// placesMux answers with the place in the field "place".
var placesMux = func() *http.ServeMux {
	mux := http.NewServeMux()
	for place := range places {
		mux.HandleFunc(place, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("place", place) })
	}
	return mux
}()

// placeOf returns the place of a path whose segments are final.
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

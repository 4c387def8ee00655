package flags

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/request"
)

// Caller has the flags that say who makes a request.
type Caller struct {
	claims        []string
	token, apiKey string
}

// Add adds --claim, --claims and --apikey.
func (f *Caller) Add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.claims, "claim", nil, "a claim of the caller's token, `NAME=VALUE`; may be repeated")
	cmd.Flags().StringVar(&f.token, "claims", "", "all claims of the caller's token, a `JSON` object")
	cmd.Flags().StringVar(&f.apiKey, "apikey", "", "the `ID` of the caller's API key, never the key itself")
}

// Fill adds the caller to a request.
func (f *Caller) Fill(cmd *cobra.Command, r *request.Request) error {
	r.APIKey = f.apiKey
	if f.token != "" {
		claims, err := parseClaims(f.token)
		if err != nil {
			return Usagef(cmd, "--claims: %w", err)
		}
		r.Claims = claims
	}
	for _, text := range f.claims {
		name, value, ok := strings.Cut(text, "=")
		switch {
		case !ok || name == "":
			return Usagef(cmd, "--claim %s: want NAME=VALUE, such as plan=pro", text)
		case strings.HasPrefix(name, "/"):
			return Usagef(cmd, "--claim %s: a claim within another is given by --claims, such as --claims '{\"org\": {\"id\": 7}}'", text)
		}
		if r.Claims == nil {
			r.Claims = map[string]any{}
		}
		r.Claims[name] = value
	}
	return nil
}

// parseClaims reads claims as a verifier of tokens does: numbers keep their
// digits.
func parseClaims(text string) (claims map[string]any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&claims); err != nil || claims == nil {
		return nil, errors.Join(errors.New(`want a JSON object, such as {"sub": "7", "plan": "pro"}`), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON object")
	}
	return claims, nil
}

// Request has the flags that describe a request.
type Request struct {
	Caller
	headers          []string
	ip, route, stage string
	rejected         bool
}

// Add adds the flags of a request, its caller's included.
func (f *Request) Add(cmd *cobra.Command) {
	f.Caller.Add(cmd)
	cmd.Flags().BoolVar(&f.rejected, "rejected", false, "the caller's credentials are not valid")
	cmd.Flags().StringArrayVarP(&f.headers, "header", "H", nil, "a header, `'NAME: VALUE'`; may be repeated")
	cmd.Flags().StringVar(&f.ip, "ip", "", "the `ADDRESS` that calls the gateway: the client's, or the last proxy's")
	cmd.Flags().StringVar(&f.route, "route", "", "the gateway's `TEMPLATE`, such as /users/{id} (default: none, patterns of routes match the path)")
	cmd.Flags().StringVar(&f.stage, "stage", "", "the gateway's `STAGE`")
}

// Read returns the request that the flags and the arguments METHOD and PATH
// describe.
func (f *Request) Read(cmd *cobra.Command, method, target string) (*request.Request, error) {
	path, query, err := splitTarget(target)
	if err != nil {
		return nil, Usagef(cmd, "%w", err)
	}
	if _, err := http.NewRequest(method, "/", nil); err != nil {
		return nil, Usagef(cmd, "%q is no method: want one such as GET", method)
	}
	r := &request.Request{Method: method, Path: path, Query: query, Route: f.route, Stage: f.stage, Rejected: f.rejected}
	if r.Headers, err = parseHeaders(f.headers); err != nil {
		return nil, Usagef(cmd, "%w", err)
	}
	if r.PathParams, err = pathParams(f.route, path); err != nil {
		return nil, Usagef(cmd, "--route %s: %w", f.route, err)
	}
	if f.ip != "" {
		if r.IP, err = netip.ParseAddr(f.ip); err != nil {
			return nil, Usagef(cmd, "--ip %s: want an IPv4 or IPv6 address", f.ip)
		}
	}
	if f.rejected && (f.token != "" || f.apiKey != "" || len(f.claims) > 0) {
		return nil, Usagef(cmd, "--rejected: credentials that are not valid say nothing: leave out --claim, --claims and --apikey")
	}
	return r, f.Fill(cmd, r)
}

// splitTarget returns a target's path, as sent, and its decoded query.
func splitTarget(target string) (path string, query url.Values, err error) {
	path, raw, _ := strings.Cut(target, "?")
	if !strings.HasPrefix(path, "/") {
		return "", nil, fmt.Errorf("%q is no path: it begins with a slash, as in /v1/items?page=2", target)
	}
	if query, err = url.ParseQuery(raw); err != nil {
		return "", nil, fmt.Errorf("the query of %q: %w", target, err)
	}
	return path, query, nil
}

func parseHeaders(texts []string) (map[string][]string, error) {
	headers := map[string][]string{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return nil, fmt.Errorf("--header %q: want 'NAME: VALUE'", text)
		}
		headers[name] = append(headers[name], strings.Trim(value, " \t"))
	}
	return headers, nil
}

// pathParams returns what a gateway reads from a path by a route's template,
// decoded: one segment for GET /users/{id}, all that follows for /files/{rest+}.
func pathParams(route, path string) (map[string]string, error) {
	_, template, ok := strings.Cut(route, "/")
	if !ok {
		return nil, nil // none, $default or $connect
	}
	params := map[string]string{}
	rest, more := path[1:], true
	for segment := range strings.SplitSeq(template, "/") {
		if !more {
			return nil, fmt.Errorf("path %s is too short for it", path)
		}
		name, isParam := strings.CutPrefix(strings.TrimSuffix(segment, "}"), "{")
		name, greedy := strings.CutSuffix(name, "+")
		value := rest
		if more = false; !isParam || !greedy {
			value, rest, more = strings.Cut(rest, "/")
		}
		if !isParam && value != segment {
			return nil, fmt.Errorf("path %s is not of its form: it has %s where the template has %s", path, value, segment)
		}
		if isParam {
			var err error
			if params[name], err = url.PathUnescape(value); err != nil {
				return nil, fmt.Errorf("path %s: %w", path, err)
			}
		}
	}
	if more {
		return nil, fmt.Errorf("path %s is too long for it", path)
	}
	return params, nil
}

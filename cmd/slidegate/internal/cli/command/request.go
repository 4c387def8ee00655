package command

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

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/internal/request"
)

// Caller adds the flags that say who makes a request: --claim, --claims and
// --apikey.
func Caller(cmd *cobra.Command, r *request.Request) {
	Claims(cmd, r, "the caller's token")
	cmd.Flags().StringVar(&r.APIKey, "apikey", "", "the `ID` of the caller's API key, never the key itself")
}

// Claims adds --claim and --claims, the claims of somebody, such as "the key's
// caller".
func Claims(cmd *cobra.Command, r *request.Request, of string) {
	var token map[string]any
	var claims []string
	cmd.Flags().StringArrayVar(&claims, "claim", nil, "a claim of "+of+", `NAME=VALUE`; may be repeated")
	Var(cmd, &token, "claims", "all claims of "+of+", a `JSON` object", parseClaims)
	Check(cmd, func() error {
		r.Claims = token
		for _, text := range claims {
			name, value, ok := strings.Cut(text, "=")
			switch {
			case !ok || name == "":
				return fmt.Errorf("--claim %s: want NAME=VALUE, such as plan=pro", text)
			case strings.HasPrefix(name, "/"):
				return fmt.Errorf("--claim %s: a claim within another is given by --claims, such as --claims '{\"org\": {\"id\": 7}}'",
					text)
			}
			if r.Claims == nil {
				r.Claims = map[string]any{}
			}
			r.Claims[name] = value
		}
		return nil
	})
}

// parseClaims reads claims as a verifier of tokens does: numbers keep all their
// digits.
func parseClaims(text string) (claims map[string]any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&claims); err != nil || claims == nil {
		return nil, errors.Join(errors.New(`--claims: want a JSON object, such as {"sub": "7", "plan": "pro"}`), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("--claims: something follows the JSON object")
	}
	return claims, nil
}

// Request adds the flags that describe a request, its caller's included.
func Request(cmd *cobra.Command, r *request.Request) {
	var headers []string
	cmd.Flags().BoolVar(&r.Rejected, "rejected", false, "the caller's credentials are not valid")
	cmd.Flags().StringArrayVarP(&headers, "header", "H", nil, "a header, `'NAME: VALUE'`; may be repeated")
	cmd.Flags().StringVar(&r.Route, "route", "",
		"the gateway's `TEMPLATE`, such as /users/{id} (default: none, patterns of routes match the path)")
	cmd.Flags().StringVar(&r.Stage, "stage", "", "the gateway's `STAGE`")
	Var(cmd, &r.IP, "ip", "the `ADDRESS` that calls the gateway: the client's, or the last proxy's", parseIP)
	Caller(cmd, r)
	Check(cmd, func() (err error) {
		if r.Rejected && (r.APIKey != "" || len(r.Claims) > 0) {
			return errors.New("--rejected: credentials that are not valid say nothing: leave out --claim, --claims and --apikey")
		}
		r.Headers, err = parseHeaders(headers)
		return err
	})
}

func parseIP(text string) (netip.Addr, error) {
	ip := request.ParseAddr(text)
	if !ip.IsValid() {
		return ip, fmt.Errorf("--ip %s: want an IPv4 or IPv6 address", text)
	}
	return ip, nil
}

// SetTarget adds the arguments METHOD and PATH to a request. The path stays as
// it is sent, and the query is decoded.
func SetTarget(r *request.Request, method, target string) (err error) {
	path, query, _ := strings.Cut(target, "?")
	if !strings.HasPrefix(path, "/") {
		return Usagef("%q is no path: it begins with a slash, as in /v1/items?page=2", target)
	}
	r.Method, r.Path = method, path
	r.SetQuery(query)
	if _, err := http.NewRequest(method, "/", nil); err != nil {
		return Usagef("%q is no method: want one such as GET", method)
	}
	if r.PathParams, err = pathParams(r.Route, path); err != nil {
		return Usagef("--route %s: %w", r.Route, err)
	}
	return nil
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

// pathParams returns the decoded parameters that a gateway reads from a path by
// a route's template: one segment for GET /users/{id}, the whole rest of the
// path for /files/{rest+}.
func pathParams(route, path string) (map[string]string, error) {
	_, template, ok := strings.Cut(route, "/")
	if !ok {
		return nil, nil // none, $default or $connect
	}
	params := map[string]string{}
	have, want := strings.Split(path[1:], "/"), strings.Split(template, "/")
	for i, segment := range want {
		if i == len(have) {
			return nil, fmt.Errorf("path %s is too short for it", path)
		}
		name, isParam := strings.CutPrefix(strings.TrimSuffix(segment, "}"), "{")
		name, greedy := strings.CutSuffix(name, "+")
		if isParam && greedy {
			have = append(have[:i], strings.Join(have[i:], "/"))
		}
		if !isParam && have[i] != segment {
			return nil, fmt.Errorf("path %s is not of its form: it has %s where the template has %s", path, have[i], segment)
		}
		if isParam {
			var err error
			if params[name], err = url.PathUnescape(have[i]); err != nil {
				return nil, fmt.Errorf("path %s: %w", path, err)
			}
		}
	}
	if len(have) > len(want) {
		return nil, fmt.Errorf("path %s is too long for it", path)
	}
	return params, nil
}

// Stdin stands for standard input among the names of logs.
const Stdin = "-"

// Logs say how to read logs.
type Logs struct {
	Format   logs.Format
	Template *logs.Template
	Order    logs.Order
	text     string // of Template, as given
}

// Add adds --format, --log-format and --order.
func (f *Logs) Add(cmd *cobra.Command) {
	Choice(cmd, (*string)(&f.Order), "order",
		"decide requests by `ORDER`: time, or file for the order of the lines (default: time)", string(logs.ByTime), string(logs.AsLogged))
	formats := make([]string, len(logs.Formats))
	for i, format := range logs.Formats {
		formats[i] = string(format)
	}
	Choice(cmd, (*string)(&f.Format), "format", "the logs' `FORMAT`: "+strings.Join(formats, ", ")+" (default: by their first lines)", formats...)
	Var(cmd, &f.Template, "log-format", "NGINX's log_format of the logs, a `TEXT` as in nginx.conf", f.parseTemplate)
	Refuse(cmd, func() bool { return f.Format != "" && f.Template != nil }, "--log-format is a format of NGINX: leave out --format")
}

func (f *Logs) parseTemplate(text string) (*logs.Template, error) {
	f.text = text
	t, err := logs.ParseTemplate(text)
	if err != nil {
		return nil, fmt.Errorf("--log-format: %w", err)
	}
	return t, nil
}

// Args returns the flags as they were given.
func (f *Logs) Args() (all []string) {
	for _, flag := range [][]string{{"--format", string(f.Format)}, {"--log-format", f.text}, {"--order", string(f.Order)}} {
		if flag[1] != "" {
			all = append(all, flag...)
		}
	}
	return all
}

// Traffic returns the requests of logs. It fails for a file that does not exist,
// but opens nothing yet. A directory stands for the files in it.
func (f *Logs) Traffic(stdin io.Reader, paths []string) (logs.Traffic, error) {
	t := logs.Traffic{Order: f.Order}
	for _, path := range paths {
		if path == Stdin {
			t.Logs = append(t.Logs, logs.Stream("standard input", stdin, f.Format))
			continue
		}
		all, err := logs.Files(path, f.Format)
		if err != nil {
			return t, err
		}
		t.Logs = append(t.Logs, all...)
	}
	for i := range t.Logs {
		t.Logs[i].Template = f.Template
	}
	return t, nil
}

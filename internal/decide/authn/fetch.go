package authn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

const (
	maxDocument = 256 << 10 // bytes of each document that an issuer publishes
	maxKeys     = 100       // in one key set
)

// fetcher fetches the keys of issuers.
type fetcher struct{ client *http.Client }

func newFetcher(transport http.RoundTripper) fetcher {
	if transport == nil {
		transport = http.DefaultTransport.(*http.Transport).Clone()
	}
	return fetcher{&http.Client{
		Transport: transport,
		// A redirect could lead to any host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// keys returns the keys of an issuer that can verify tokens, at least one. It
// finds them by OpenID Connect Discovery 1.0 if jwks is empty.
func (f fetcher) keys(ctx context.Context, issuer, jwks string) ([]key, error) {
	if jwks == "" {
		var provider struct {
			Issuer string `json:"issuer"`
			JWKS   string `json:"jwks_uri"`
		}
		at := strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration"
		if err := f.get(ctx, at, &provider); err != nil {
			return nil, fmt.Errorf("%w: check the issuer, or write the URL of its keys as jwks", err)
		}
		if provider.Issuer != issuer {
			return nil, fmt.Errorf("%s is of the issuer %q: write exactly that as issuer", at, provider.Issuer)
		}
		// A document of a remote issuer must not name http://localhost: in a Lambda,
		// that is the runtime API.
		if jwks = provider.JWKS; !ruledoc.IsSecureURL(jwks) || isHTTPS(issuer) && !isHTTPS(jwks) {
			return nil, fmt.Errorf("%s has the jwks_uri %q: want one with https", at, jwks)
		}
	}
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := f.get(ctx, jwks, &document); err != nil {
		return nil, err
	}
	if len(document.Keys) > maxKeys {
		return nil, fmt.Errorf("%s has %d keys: want %d at most", jwks, len(document.Keys), maxKeys)
	}
	var keys []key
	for _, data := range document.Keys {
		if k, ok := readKey(data); ok { // RFC 7517, section 5: others are ignored
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s has no key that can verify tokens", jwks)
	}
	return keys, nil
}

func isHTTPS(url string) bool { return len(url) > 6 && strings.EqualFold(url[:6], "https:") }

// get decodes the JSON document at a URL.
func (f fetcher) get(ctx context.Context, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	response, err := f.client.Do(req)
	if err != nil {
		return err // which names the URL
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers with status %d", url, response.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	if err == nil && len(data) > maxDocument {
		err = errors.New("it is too long")
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", url, err)
	}
	return nil
}

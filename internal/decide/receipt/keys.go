package receipt

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// minSecret is the least length of a secret, in bytes.
const minSecret = 16

var (
	// ErrUnsigned is wrapped by the error of a header without a valid signature.
	ErrUnsigned = errors.New("the receipt has no valid signature: the authorizer and the backend need the same secret")
	// ErrExpired is wrapped by the error of a signed receipt that is too old.
	ErrExpired = errors.New("the receipt has expired")
)

// Keys are the secrets that sign and verify receipts. The first one signs.
type Keys [][]byte

// ParseKeys reads secrets with commas between them. While a secret is replaced,
// the old and the new one are valid.
func ParseKeys(list string) (keys Keys, err error) {
	for secret := range strings.SplitSeq(list, ",") {
		if secret = strings.TrimSpace(secret); len(secret) < minSecret {
			return nil, fmt.Errorf("a secret for receipts has %d characters: make one of at least %d, such as `openssl rand -hex 32` prints",
				len(secret), minSecret)
		}
		keys = append(keys, []byte(secret))
	}
	return keys, nil
}

// Sign returns the receipt with a signature; "" stays empty.
func (k Keys) Sign(text string) string {
	if len(k) == 0 || text == "" {
		return text
	}
	return text + "." + encoding.EncodeToString(mac(k[0], text))
}

// Verify parses a receipt that came as a header. It must be signed, not have
// expired, and not be of a time more than MaxAge from now.
func (k Keys) Verify(text string, now time.Time) (*Receipt, error) {
	if !k.Signed(text) {
		return nil, ErrUnsigned
	}
	r, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if end := SettleBy(r.Pending, r.Time); now.After(end) || r.Time.Sub(now) > MaxAge {
		return nil, fmt.Errorf("%w: it is %v old, and valid for %v", ErrExpired, now.Sub(r.Time).Round(time.Second), end.Sub(r.Time).Round(time.Second))
	}
	return r, nil
}

// Signed reports whether a text has the signature of one of the keys. Its receipt may
// have expired, or be none.
func (k Keys) Signed(text string) bool {
	payload, signature := split(text)
	given, err := encoding.DecodeString(signature)
	return err == nil && len(payload) <= maxDenial &&
		slices.ContainsFunc(k, func(secret []byte) bool { return hmac.Equal(given, mac(secret, payload)) })
}

func mac(secret []byte, text string) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// split returns a receipt without its signature, and the signature.
func split(text string) (payload, signature string) {
	payload, signature, _ = strings.Cut(text, ".")
	return payload, signature
}

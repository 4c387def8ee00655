package authn

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// maxToken bounds a token in bytes. API Gateway takes 10 KB of fields.
const maxToken = 16 << 10

// The reasons to reject a token beside those of package jwt.
var (
	errLength    = errors.New("token is empty or too long")
	errNames     = errors.New("token repeats a name, or is no JSON object")
	errIssuer    = errors.New("token is of an issuer that the rules do not list")
	errAlgorithm = errors.New("token has an algorithm that is not allowed")
	errCritical  = errors.New("token has critical extensions")
	errKeyID     = errors.New("token has no key of its issuer")
	errAudience  = errors.New("token is for an audience that the rules do not list")
)

// reasons are what the log may say. Texts of other errors may quote a token.
var reasons = []error{
	errLength, errNames, errIssuer, errAlgorithm, errCritical, errKeyID, errAudience,
	jwt.ErrTokenExpired, jwt.ErrTokenNotValidYet, jwt.ErrTokenRequiredClaimMissing, jwt.ErrTokenInvalidClaims,
	jwt.ErrTokenSignatureInvalid, jwt.ErrTokenMalformed,
}

func reason(err error) string {
	for _, r := range reasons {
		if errors.Is(err, r) {
			return r.Error()
		}
	}
	return "token is invalid"
}

// verify returns the claims of a valid token. It rejects a token by its form and
// its claims first, which needs no keys. So noKeysError means that only the
// signature is in doubt. Keys, and places of keys, that the token itself names
// are ignored.
func (v *verifiers) verify(ctx context.Context, now time.Time, token string) (map[string]any, error) {
	if token == "" || len(token) > maxToken {
		return nil, errLength
	}
	if strings.ContainsAny(token, "\r\n") { // which base64 ignores
		return nil, jwt.ErrTokenMalformed
	}
	if err := checkNames(token); err != nil {
		return nil, err
	}
	claims := jwt.MapClaims{}
	parser := jwt.NewParser(jwt.WithValidMethods(ruledoc.TokenAlgorithms), jwt.WithJSONNumber(), jwt.WithStrictDecoding(), jwt.WithoutClaimsValidation())
	_, err := parser.ParseWithClaims(token, claims, func(t *jwt.Token) (any, error) {
		name, _ := claims["iss"].(string)
		from := v.byIssuer[name]
		if from == nil {
			return nil, errIssuer
		}
		if err := from.validate(now, claims); err != nil {
			return nil, err
		}
		return from.keysOf(ctx, now, t)
	})
	if err != nil {
		return nil, err
	}
	return claims, nil
}

// keysOf returns the keys that may have signed a token.
func (i *issuer) keysOf(ctx context.Context, now time.Time, t *jwt.Token) (any, error) {
	if !slices.Contains(i.Algorithms, t.Method.Alg()) {
		return nil, errAlgorithm
	}
	if _, ok := t.Header["crit"]; ok {
		return nil, errCritical // a verifier must reject extensions that it does not know
	}
	if !fits(t.Method.Alg(), len(t.Signature)) {
		return nil, jwt.ErrTokenSignatureInvalid
	}
	id, ok := t.Header["kid"].(string)
	if _, stated := t.Header["kid"]; stated && !ok {
		return nil, errKeyID
	}
	keys, err := i.find(ctx, now, id)
	if err != nil {
		return nil, err
	}
	var fitting jwt.VerificationKeySet
	for _, k := range keys {
		if slices.Contains(k.algorithms, t.Method.Alg()) {
			fitting.Keys = append(fitting.Keys, k.public)
		}
	}
	if len(fitting.Keys) == 0 {
		return nil, errAlgorithm
	}
	return fitting, nil
}

// fits reports whether signatures by an algorithm have this length in bytes. Those
// by RSA are as long as the key.
func fits(algorithm string, length int) bool {
	switch algorithm {
	case "ES256", "EdDSA":
		return length == 64
	case "ES384":
		return length == 96
	case "ES512":
		return length == 132
	}
	return minRSA <= length*8 && length*8 <= maxRSA
}

// lastDate is the end of the year 9999, in seconds since 1970. Package jwt lets
// dates wrap around that no clock can reach.
const lastDate = 253402300799

func checkDates(claims jwt.MapClaims) error {
	for _, name := range []string{"exp", "nbf"} {
		date, ok := claims[name].(json.Number)
		if !ok {
			continue // missing, or package jwt reports it
		}
		if seconds, err := date.Float64(); err != nil || math.Abs(seconds) > lastDate {
			return jwt.ErrTokenInvalidClaims
		}
	}
	return nil
}

// validate checks the claims of a token.
func (i *issuer) validate(now time.Time, claims jwt.MapClaims) error {
	if err := checkDates(claims); err != nil {
		return err
	}
	err := jwt.NewValidator(
		jwt.WithIssuer(i.Issuer), jwt.WithExpirationRequired(), jwt.WithLeeway(i.leeway), jwt.WithTimeFunc(func() time.Time { return now }),
	).Validate(claims)
	if err != nil {
		return err
	}
	audiences, err := claims.GetAudience()
	if err != nil {
		return errAudience
	}
	if _, stated := claims["aud"]; !stated { // access tokens of Amazon Cognito have a client alone
		client, _ := claims["client_id"].(string)
		audiences = jwt.ClaimStrings{client}
	}
	if !slices.ContainsFunc(audiences, func(a string) bool { return slices.Contains(i.Audience, a) }) {
		return errAudience
	}
	return nil
}

// checkNames checks that the header and the claims of a token are JSON objects
// in which no name is repeated: parsers differ in which of two values they take.
func checkNames(token string) error {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return jwt.ErrTokenMalformed
	}
	for _, part := range parts[:2] {
		data, err := base64.RawURLEncoding.Strict().DecodeString(part)
		if err != nil {
			return jwt.ErrTokenMalformed
		}
		if _, err := request.ParseObject(data); err != nil {
			return errNames
		}
	}
	return nil
}

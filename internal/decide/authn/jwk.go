package authn

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"slices"
)

// key is a public key of an issuer, with the algorithms of tokens that it may
// verify.
type key struct {
	id         string
	algorithms []string
	public     any // as package jwt takes it
}

// jwk is a JSON Web Key (RFC 7517) as far as it can verify tokens. Symmetric
// keys have no fields here: no shared secret verifies a token.
type jwk struct {
	Type       string   `json:"kty"`
	Use        string   `json:"use"`
	Operations []string `json:"key_ops"`
	Algorithm  string   `json:"alg"`
	ID         string   `json:"kid"`
	Curve      string   `json:"crv"`
	N          string   `json:"n"`
	E          string   `json:"e"`
	X          string   `json:"x"`
	Y          string   `json:"y"`
}

// readKey reads a key; ok is false if it cannot verify tokens.
func readKey(data []byte) (k key, ok bool) {
	var j jwk
	if json.Unmarshal(data, &j) != nil || j.Use != "" && j.Use != "sig" || j.Operations != nil && !slices.Contains(j.Operations, "verify") {
		return k, false
	}
	k.id = j.ID
	switch j.Type {
	case "RSA":
		k.public, k.algorithms = j.rsa(), []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
	case "EC":
		k.public, k.algorithms = j.ecdsa()
	case "OKP":
		k.public, k.algorithms = j.ed25519(), []string{"EdDSA"}
	}
	if j.Algorithm != "" {
		k.algorithms = slices.DeleteFunc(k.algorithms, func(a string) bool { return a != j.Algorithm })
	}
	return k, k.public != nil && len(k.algorithms) > 0
}

// RFC 7518 asks for RSA keys of 2048 bits or more, and long ones take long to
// verify.
const minRSA, maxRSA = 2048, 8192

// rsa returns a key, or nil.
func (j *jwk) rsa() any {
	n, e := new(big.Int).SetBytes(decode(j.N)), new(big.Int).SetBytes(decode(j.E))
	if n.BitLen() < minRSA || n.BitLen() > maxRSA || e.BitLen() > 31 || e.Int64() < 3 || e.Bit(0) == 0 {
		return nil
	}
	return &rsa.PublicKey{N: n, E: int(e.Int64())}
}

// ecdsa returns a key on a curve of RFC 7518, and the algorithm of the curve.
func (j *jwk) ecdsa() (public any, algorithms []string) {
	curves := map[string]struct {
		curve     elliptic.Curve
		algorithm string
	}{"P-256": {elliptic.P256(), "ES256"}, "P-384": {elliptic.P384(), "ES384"}, "P-521": {elliptic.P521(), "ES512"}}
	c, ok := curves[j.Curve]
	x, y := decode(j.X), decode(j.Y)
	if !ok || len(x) != len(y) {
		return nil, nil
	}
	point, err := ecdsa.ParseUncompressedPublicKey(c.curve, slices.Concat([]byte{4}, x, y))
	if err != nil {
		return nil, nil
	}
	return point, []string{c.algorithm}
}

func (j *jwk) ed25519() any {
	x := decode(j.X)
	if j.Curve != "Ed25519" || len(x) != ed25519.PublicKeySize {
		return nil
	}
	return ed25519.PublicKey(x)
}

// decode returns nil for text that is not base64url.
func decode(base64url string) []byte {
	data, err := base64.RawURLEncoding.DecodeString(base64url)
	if err != nil {
		return nil
	}
	return data
}

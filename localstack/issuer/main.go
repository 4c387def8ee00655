// Command issuer issues tokens to try rules with. It signs any claims for any
// client, and forgets its key when it ends: run it on your own machine alone.
//
//	go run ./localstack/issuer &
//	curl -s 'http://127.0.0.1:9000/token?sub=7&plan=pro'
//
// Rules trust it by authentication: {jwt: [{issuer: "http://127.0.0.1:9000",
// audience: api}]}.
package main

import (
	"cmp"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

func main() {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		log.Fatal(err)
	}
	address := cmp.Or(os.Getenv("LISTEN"), "127.0.0.1:9000")
	issuer := "http://" + address
	publish("/.well-known/openid-configuration", map[string]any{"issuer": issuer, "jwks_uri": issuer + "/keys"})
	publish("/keys", map[string]any{"keys": []any{map[string]any{
		"kty": "OKP", "crv": "Ed25519", "kid": "1", "x": base64.RawURLEncoding.EncodeToString(public)}}})
	http.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		claims := jwt.MapClaims{"iss": issuer, "aud": "api", "exp": time.Now().Add(time.Hour).Unix()}
		for name, values := range r.URL.Query() {
			claims[name] = values[0]
		}
		token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
		token.Header["kid"] = "1"
		signed, err := token.SignedString(private)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write([]byte(signed)) // the client may have hung up
	})
	log.Fatal(http.ListenAndServe(address, nil))
}

// publish answers with a JSON document.
func publish(path string, document any) {
	http.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(document)
	})
}

package gateway

import (
	"encoding/json"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"net/http"
)

// echo is the default backend. It answers with the request and the authorizer's
// context.
func echo(w http.ResponseWriter, r *http.Request) {
	decision := recorderOf(r).decision
	addFields(w.Header(), decision)
	addCORS(w.Header())
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		w.Header().Set("Access-Control-Allow-Methods", "*")
		w.Header().Set("Access-Control-Allow-Headers", "*")
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(struct { // the client may have hung up
		Method     string         `json:"method"`
		Path       string         `json:"path"`
		Authorizer *apigw.Context `json:"authorizer"`
	}{r.Method, r.URL.EscapedPath(), decision})
}

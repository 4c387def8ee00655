package gateway

import (
	"encoding/json"
	"net/http"

	"github.com/slidegate/slidegate/internal/decide/headers"
)

// echo is the default backend. It answers with the request, which scripts of every
// origin may read.
func echo(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(headers.AllowOrigin, "*")
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
		Method string `json:"method"`
		Path   string `json:"path"`
	}{r.Method, r.URL.EscapedPath()})
}

package frameworks

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/slidegate/slidegate"
)

// chiRouter limits all routes by one limiter, and one route by another too.
func chiRouter(all, login *slidegate.Limiter) http.Handler {
	r := chi.NewRouter()
	r.Use(slidegate.Middleware(all, slidegate.RefundOn("404")))
	r.Get("/hello", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) })
	r.With(slidegate.Middleware(login)).Post("/login", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	return r
}

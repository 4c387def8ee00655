package bench

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"

	gate "github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limithttp"
)

// TestFrameworks sends the same requests to a router of chi and an engine of
// gin, with the code of docs/library.md. Both limit all routes, and one route
// by another limiter too.
func TestFrameworks(t *testing.T) {
	gin.SetMode(gin.ReleaseMode)
	for name, build := range map[string]func(all, login func(http.Handler) http.Handler) http.Handler{
		"chi": func(all, login func(http.Handler) http.Handler) http.Handler {
			r := chi.NewRouter()
			r.Use(all)
			r.With(login).Post("/login", noContent)
			return r
		},
		"gin": func(all, login func(http.Handler) http.Handler) http.Handler {
			e := gin.New()
			e.Use(forGin(all))
			e.POST("/login", forGin(login), func(c *gin.Context) { c.Status(http.StatusNoContent) })
			return e
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := limithttp.Middleware(newLimiter(t, 4), limithttp.RefundOn("404"))
			h := build(all, limithttp.Middleware(newLimiter(t, 1)))
			var got string
			for _, path := range []string{"/none", "/login", "/login", "/none", "/none", "/none", "/login", "/login"} {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, nil))
				left, _, _ := strings.Cut(w.Header().Get("RateLimit"), ";t=")
				got += fmt.Sprintln(path, w.Code, left, w.Header().Get("Retry-After") != "")
			}
			// Status 404 is refunded, and a request that login denies counts for
			// all routes.
			const want = `/none 404 "default";r=3 false
/login 204 "default";r=0 false
/login 429 "default";r=0 true
/none 404 "default";r=1 false
/none 404 "default";r=1 false
/none 404 "default";r=1 false
/login 429 "default";r=0 true
/login 429 "default";r=0 true
`
			if got != want {
				t.Errorf("got:\n%swant:\n%s", got, want)
			}
		})
	}
}

func newLimiter(t *testing.T, n int64) *gate.Limiter {
	t.Helper()
	lim, err := gate.New(gate.SlidingWindow(n, time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return lim
}

// forGin adapts net/http middleware to gin.
func forGin(middleware func(http.Handler) http.Handler) gin.HandlerFunc {
	return func(c *gin.Context) {
		own, passed := c.Writer, false
		middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c.Writer, c.Request, passed = ginWriter{own, w}, r, true
			c.Next()
			if !own.Written() {
				w.WriteHeader(own.Status()) // which gin writes later
			}
		})).ServeHTTP(own, c.Request)
		if c.Writer = own; !passed {
			c.Abort()
		}
	}
}

// ginWriter writes through the middleware.
type ginWriter struct {
	gin.ResponseWriter
	through http.ResponseWriter
}

func (w ginWriter) WriteHeader(status int)               { w.through.WriteHeader(status) }
func (w ginWriter) Write(p []byte) (int, error)          { return w.through.Write(p) }
func (w ginWriter) WriteString(text string) (int, error) { return io.WriteString(w.through, text) }

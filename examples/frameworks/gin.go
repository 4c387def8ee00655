package frameworks

import (
	"io"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/slidegate/slidegate"
)

// ginEngine limits all routes by one limiter, and one route by another too.
func ginEngine(all, login *slidegate.Limiter) http.Handler {
	e := gin.New()
	e.Use(ginMiddleware(slidegate.Middleware(all, slidegate.RefundOn("404"))))
	e.GET("/hello", func(c *gin.Context) { c.String(http.StatusOK, "hello") })
	e.POST("/login", ginMiddleware(slidegate.Middleware(login)), func(c *gin.Context) { c.Status(http.StatusNoContent) })
	return e
}

// ginMiddleware makes a handler of gin of middleware for net/http.
func ginMiddleware(middleware func(http.Handler) http.Handler) gin.HandlerFunc {
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

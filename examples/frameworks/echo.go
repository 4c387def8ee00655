package frameworks

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/slidegate/slidegate"
)

// echoServer limits all routes by one limiter, and one route by another too.
func echoServer(all, login *slidegate.Limiter) http.Handler {
	e := echo.New()
	e.Use(echo.WrapMiddleware(slidegate.Middleware(all, slidegate.RefundOn("404"))), answerErrors)
	e.GET("/hello", func(c echo.Context) error { return c.String(http.StatusOK, "hello") })
	e.POST("/login", func(c echo.Context) error { return c.NoContent(http.StatusNoContent) },
		echo.WrapMiddleware(slidegate.Middleware(login)))
	return e
}

// answerErrors answers errors within the middleware before it, so that it sees
// their status.
func answerErrors(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := next(c); err != nil {
			c.Error(err)
		}
		return nil
	}
}

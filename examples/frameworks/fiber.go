package frameworks

import (
	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/adaptor"

	"github.com/slidegate/slidegate"
)

// fiberApp limits all routes by one limiter, and one route by another too.
func fiberApp(all, login *slidegate.Limiter) *fiber.App {
	app := fiber.New()
	app.Use(adaptor.HTTPMiddleware(slidegate.Middleware(all)))
	app.Get("/hello", func(c fiber.Ctx) error { return c.SendString("hello") })
	app.Post("/login", adaptor.HTTPMiddleware(slidegate.Middleware(login)), func(c fiber.Ctx) error {
		return c.SendStatus(fiber.StatusNoContent)
	})
	return app
}

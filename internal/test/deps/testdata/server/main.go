// Command server is an HTTP server without limits, to compare with.
package main

import (
	"log"
	"net/http"
)

func main() {
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", http.NotFoundHandler()))
}

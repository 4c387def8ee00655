// Command llm answers prompts, for 100 tokens a minute and user. It reserves the
// most that an answer may cost, and settles what it did cost.
//
//	go run ./examples/llm &
//	curl -i 'http://127.0.0.1:8080/?user=7' -d 'say something in five words'
package main

import (
	"cmp"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limithttp"
)

func main() {
	tokens, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		reserved, err := tokens.Reserve(r.Context(), r.URL.Query().Get("user"), 60)
		switch {
		case err != nil: // there is no decision
			http.Error(w, "try again", http.StatusServiceUnavailable)
		case !reserved.Allowed:
			limithttp.Deny(w, tokens, reserved.Result)
		default:
			prompt, _ := io.ReadAll(r.Body) // the model repeats it, a token for each word
			if err := reserved.Settle(r.Context(), int64(len(strings.Fields(string(prompt))))); err != nil {
				log.Print(err)
			}
			fmt.Fprintf(w, "%s\n", prompt)
		}
	})
	log.Fatal(http.ListenAndServe(cmp.Or(os.Getenv("LISTEN"), "127.0.0.1:8080"), nil))
}

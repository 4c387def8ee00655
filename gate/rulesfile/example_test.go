package rulesfile_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/gate/rulesfile"
	"github.com/slidegate/slidegate/limithttp"
)

// A server limits requests by a file, and follows its changes.
func ExampleOpen() {
	rules, err := rulesfile.Open("rules.yaml")
	if err != nil {
		log.Fatal(err) // names the line, and what to write instead
	}
	go rules.Watch(context.Background())
	g, err := gate.New(rules)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe(":8080", limithttp.GateMiddleware(g)(http.FileServer(http.Dir(".")))))
}

func ExampleParse() {
	rules, err := rulesfile.Parse("rules.yaml", `rules: [{name: login, when: {path: /login}, key: all, limit: 1/minute}]`)
	if err != nil {
		log.Fatal(err)
	}
	g, err := gate.New(rules)
	if err != nil {
		log.Fatal(err)
	}
	for _, path := range []string{"/login", "/login", "/other"} {
		d, err := g.Decide(context.Background(), &gate.Request{Method: "POST", Path: path})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(path, d.Allowed, d.Rule)
	}
	// Output:
	// /login true login
	// /login false login
	// /other true
}

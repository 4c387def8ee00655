package rulestable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/gate/rulestable"
	"github.com/slidegate/slidegate/limithttp"
)

// A server limits requests by published rules. It counts in memory; WithStore of
// package dynamostore shares the counters of all servers.
func Example() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	g, err := gate.New(rulestable.Open(dynamodb.NewFromConfig(cfg), "rules"))
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe(":8080", limithttp.GateMiddleware(g)(http.FileServer(http.Dir(".")))))
}

// table is the one of TestExample.
var table = "rules"

// A billing system's webhook moves a customer to 20,000 requests a day until the
// paid time ends, and back once the payment is returned.
func ExampleTable_SetOverride() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	rules := rulestable.Open(dynamodb.NewFromConfig(cfg), table)
	webhook := func(w http.ResponseWriter, r *http.Request) {
		// Verify the sender's signature here: whoever may send events raises limits.
		var event billingEvent
		err := json.NewDecoder(r.Body).Decode(&event)
		if err == nil {
			ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
			defer cancel()
			err = changeCustomer(ctx, rules, event)
		}
		if err != nil { // the sender repeats the event
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
	for _, event := range []string{
		`{"id": "83", "kind": "paid", "customer": "acme", "until": "2199-01-01T00:00:00Z"}`,
		`{"id": "84", "kind": "returned", "customer": "acme"}`,
	} {
		w := httptest.NewRecorder()
		webhook(w, httptest.NewRequest("POST", "/billing", strings.NewReader(event)))
		switch o, err := rules.Override(context.Background(), "per-day", "tenant:acme"); {
		case errors.Is(err, rulestable.ErrNoOverride):
			fmt.Println(w.Code, "as the rules say")
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Println(w.Code, o.Capacity[""], "a day until", o.Until.Format(time.DateOnly), "by", o.Who)
		}
	}
	// Prints:
	// 200 20000 a day until 2199-01-01 by billing
	// 200 as the rules say
}

type billingEvent struct {
	ID, Kind, Customer string
	Until              time.Time
}

func changeCustomer(ctx context.Context, rules *rulestable.Table, event billingEvent) error {
	key, note := "tenant:"+event.Customer, rulestable.Note{Who: "billing", Why: "invoice " + event.ID}
	if event.Kind == "paid" {
		return rules.SetOverride(ctx, "per-day", key, rulestable.Override{
			Capacity: map[string]int64{"": 20_000}, Until: event.Until, Note: note,
		})
	}
	err := rules.DeleteOverride(ctx, "per-day", key, note)
	if errors.Is(err, rulestable.ErrNoOverride) { // the event came twice
		return nil
	}
	return err
}

package slidegate

import (
	"context"
	"net/http"
	"strings"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/httplimit"
	"github.com/slidegate/slidegate/internal/oplog"
	"github.com/slidegate/slidegate/internal/receipt"
)

// SettleMiddleware is for a backend behind the Lambda authorizer. The authorizer
// decides and charges a request before its cost and status are known. This
// middleware corrects the charge by the handler's answer: a rule with refund_on
// takes nothing for some statuses, and a limit with settle: true takes what the
// answer's field Slidegate-Cost says, such as "chat.tokens=512". Clients do not
// see that field.
//
//	store := dynamostore.New(dynamodb.NewFromConfig(cfg), os.Getenv("SLIDEGATE_COUNTERS"))
//	settle := slidegate.SettleMiddleware(store, os.Getenv("SLIDEGATE_RECEIPT_SECRET"))
//	http.ListenAndServe(":8080", settle(handler))
//
// The store is that of the authorizer's counters. The backend needs no rules, and
// dynamodb:UpdateItem on that table alone: a correction is one write for each
// rule, sent once. One that fails is logged, and the charge stays.
//
// API Gateway hands the receipt on in the field Slidegate-Receipt, by a mapping of
// the integration. The authorizer signs it with the same secret. A receipt
// without a valid signature is refused, and so is one that is older than 15
// minutes when the request arrives, or that this process has used before. The
// request then goes on, stays charged as it was, and the log says so. The secret
// has at least 16 characters. To replace it, give both with a comma between them:
// the first signs, all are valid.
//
// An HTTP API passes requests on that the authorizer has denied, if PassDenials of
// the construct is set. The middleware answers them by the same field, with
// status 429 or as the rules say, and the handler does not see them. An
// integration without the mapping lets them through: a request without the field
// is logged, and goes on.
//
// Options are WithLogger, WithObserver and WithClock. SettleMiddleware panics for
// others, and for a secret that is too short: programs call it when they start.
func SettleMiddleware(store Store, secret string, options ...Option) func(http.Handler) http.Handler {
	keys, err := receipt.ParseKeys(secret)
	if err != nil {
		panic("slidegate: SettleMiddleware: " + err.Error())
	}
	c, settler, h := newSettle("SettleMiddleware", store, keys, options)
	h.Texts = receiptsOf
	h.Take = func(text string) (*receipt.Receipt, error) { return settler.TakeHeader(text, c.now()) }
	return settleMiddleware(h)
}

// receiptsOf returns the members of the field. A proxy may have joined the gateway's
// value with what the client sent.
func receiptsOf(r *http.Request) []string {
	return strings.FieldsFunc(strings.Join(r.Header.Values(receipt.Header), ","), func(c rune) bool { return c == ',' || c == ' ' })
}

// SettleMiddlewareBy is SettleMiddleware for a program that gets the authorizer's
// context with each request, such as a Lambda. The function returns the context's
// value receipt, "" for none. API Gateway states that, so it has no signature and
// needs no secret. The function must not read it from a field of the request: any
// client could send one, and write to every counter. A request that was passed on
// although it is denied gets a plain 429; to give the fields of limits, answer by
// the context before. Package lambdalimit does all this for typed handlers.
func SettleMiddlewareBy(store Store, stated func(*http.Request) string, options ...Option) func(http.Handler) http.Handler {
	given("SettleMiddlewareBy", stated != nil)
	c, settler, h := newSettle("SettleMiddlewareBy", store, nil, options)
	h.Texts = func(r *http.Request) []string { return []string{stated(r)} }
	h.Take = func(text string) (*receipt.Receipt, error) { return settler.Take(text, c.now()) }
	return settleMiddleware(h)
}

// newSettle returns a handler without its source of receipts, and what takes them.
func newSettle(name string, store Store, keys receipt.Keys, options []Option) (*config, *receipt.Settler, httplimit.Settle) {
	if store == nil {
		panic("slidegate: " + name + ": the store is nil: open that of the authorizer's counters")
	}
	c, err := newConfig(append(options[:len(options):len(options)], WithStore(store)))
	if err != nil {
		panic("slidegate: " + name + ": " + err.Error())
	}
	if c.name != "" || len(c.limits) > 0 || c.policyGiven {
		panic("slidegate: " + name + " takes WithLogger, WithObserver and WithClock: the authorizer has the limits")
	}
	settler := receipt.NewSettler(c.store, keys, &observer{oplog.NewObserver(c.log), &c})
	return &c, settler, httplimit.Settle{
		Keys: keys,
		Finish: func(ctx context.Context, r *receipt.Receipt, o *engine.Outcome) {
			settler.Finish(ctx, c.now(), r, o)
		},
		Log:   oplog.Throttle(c.log),
		Costs: oplog.NewCostWarnings(c.log),
	}
}

func settleMiddleware(h httplimit.Settle) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		h := h
		h.Next = next
		return &h
	}
}

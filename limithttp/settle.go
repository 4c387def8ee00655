package limithttp

import (
	"net/http"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/assemble/httplimit"
	"github.com/slidegate/slidegate/internal/assemble/setup"
	"github.com/slidegate/slidegate/internal/decide/receipt"
)

// SettleOption sets up [SettleMiddleware]. It is a [slidegate.SharedOption].
type SettleOption interface {
	// ForSettling is for this module.
	ForSettling(*setup.Config)
}

// SettleMiddleware is for a backend behind the Lambda authorizer. The authorizer
// decides and charges a request before its cost and status are known. This
// middleware corrects the charge by the handler's answer: a rule with refund_on
// takes nothing for some statuses, and a limit with settle: true takes what the
// answer's field Slidegate-Cost says, such as "chat.tokens=512". Clients do not
// see that field.
//
//	store := dynamostore.New(dynamodb.NewFromConfig(cfg), os.Getenv("SLIDEGATE_COUNTERS"))
//	settle := limithttp.SettleMiddleware(store, os.Getenv("SLIDEGATE_RECEIPT_SECRET"))
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
// Options are slidegate.WithLogger, WithObserver and WithClock. SettleMiddleware
// panics for a secret that is too short: programs call it when they start.
func SettleMiddleware(store slidegate.Store, secret string, options ...SettleOption) func(http.Handler) http.Handler {
	const name = "limithttp: SettleMiddleware: "
	if store == nil {
		panic(name + "the store is nil: open that of the authorizer's counters")
	}
	keys, err := receipt.ParseKeys(secret)
	if err != nil {
		panic(name + err.Error())
	}
	c := setup.Config{}
	slidegate.WithStore(store).ForGate(&c)
	if err := setup.Apply(&c, options, func(o SettleOption) { o.ForSettling(&c) }); err != nil {
		panic(name + err.Error())
	}
	return httplimit.SettleByField(&c, keys)
}

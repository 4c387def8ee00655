// Command authorizer is the Lambda authorizer of REST, HTTP, WebSocket and
// AppSync APIs. It reads its rules from one DynamoDB table and counts in another.
//
// Its settings are environment variables, which infra/ratelimit sets:
//
//	SLIDEGATE_COUNTERS          the table of counters; required
//	SLIDEGATE_RULES             the table of rules; required
//	SLIDEGATE_DEADLINE          of a decision; 250ms by default
//	SLIDEGATE_SIMPLE_RESPONSES  false for HTTP APIs that take IAM policies; true by default
//	SLIDEGATE_PASS_DENIALS      true if backends of HTTP APIs answer denials; false by default
//	SLIDEGATE_RECEIPT_SECRET    signs receipts for backends that get them as a header
//	SLIDEGATE_LIMITER           its name in CloudWatch; the function's by default
//	SLIDEGATE_METRICS           off for no metrics; on by default
//
// Rules may name further variables that hold secrets, by hash_secret and
// client_ip. The role needs dynamodb:GetItem and dynamodb:UpdateItem on the
// counters, and dynamodb:GetItem on the rules.
package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/slidegate/slidegate/internal/assemble/inlambda"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/observe/oplog"
)

func main() {
	inlambda.CollectLess(os.Getenv)
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	h, err := build(context.Background(), log)
	if err != nil {
		log.Error("authorizer cannot start", "error", err)
		os.Exit(1)
	}
	lambda.StartWithOptions(h, lambda.WithEnableSIGTERM(func() {
		h.End()
		os.Exit(0)
	}))
}

// handler takes events as they come. For a function, lambda.Start would scan and
// copy each event before Handle reads it.
type handler struct {
	*apigw.Authorizer
	*inlambda.Limiter
}

// Invoke answers an event.
func (h handler) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	h.Metrics.Begin(h.Limiter.Now())
	answer, err := h.Handle(ctx, event)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

// build returns the authorizer that the environment describes.
func build(ctx context.Context, log *slog.Logger) (h handler, err error) {
	s, err := readSettings()
	if err != nil {
		return h, err
	}
	l, err := inlambda.NewLimiter(ctx, s.Settings, log)
	if err != nil {
		return h, err
	}
	h = handler{apigw.NewAuthorizer(l.Engine, l.Now), l}
	h.Policies, h.PassDenials = !s.simple, s.passDenials
	h.Receipts, h.Log = receipt.NewIssuer(s.Keys, log), oplog.Throttle(log, "claim")
	h.Authorizer.Callers, h.Rejected = l.Callers, l.Recorder.Rejected
	return h, nil
}

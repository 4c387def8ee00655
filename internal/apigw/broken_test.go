package apigw_test

import (
	"context"
	"errors"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// brokenStore never answers.
type brokenStore struct{}

var errBroken = errors.New("no answer")

func (brokenStore) Charge(context.Context, time.Time, *limit.Charge, *limit.Verdict) error {
	return errBroken
}

func (brokenStore) ChargeAll(context.Context, time.Time, []*limit.Charge, []*limit.Verdict) error {
	return errBroken
}

func (brokenStore) Denies(time.Time, *limit.Charge, *limit.Verdict) bool { return false }

func (brokenStore) Settle(context.Context, time.Time, *limit.Charge, *limit.Receipt, []int64) error {
	return errBroken
}

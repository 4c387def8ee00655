package ratelimit

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/jsii-runtime-go"
)

// newCounters has no index and no stream, since both would be written with every decision, and no backup:
// a counter is worth nothing once its window has passed.
func newCounters(r *RateLimit, p Props) awsdynamodb.Table {
	return awsdynamodb.NewTable(r, jsii.String("Counters"), &awsdynamodb.TableProps{
		PartitionKey:         stringKey("k"),
		BillingMode:          awsdynamodb.BillingMode_PAY_PER_REQUEST,
		MaxReadRequestUnits:  ceiling(p.MaxReads),
		MaxWriteRequestUnits: ceiling(p.MaxWrites),
		TimeToLiveAttribute:  jsii.String("ttl"),
		RemovalPolicy:        p.RemovalPolicy,
	})
}

// newRules keeps every published version and the overrides of single keys: it is the part that cannot be made again.
func newRules(r *RateLimit, p Props) awsdynamodb.Table {
	return awsdynamodb.NewTable(r, jsii.String("Rules"), &awsdynamodb.TableProps{
		PartitionKey: stringKey("p"),
		SortKey:      stringKey("s"),
		BillingMode:  awsdynamodb.BillingMode_PAY_PER_REQUEST,
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: jsii.Bool(true),
		},
		DeletionProtection: jsii.Bool(p.RemovalPolicy != awscdk.RemovalPolicy_DESTROY),
		RemovalPolicy:      p.RemovalPolicy,
	})
}

func stringKey(name string) *awsdynamodb.Attribute {
	return &awsdynamodb.Attribute{Name: jsii.String(name), Type: awsdynamodb.AttributeType_STRING}
}

func ceiling(units int) *float64 {
	if units == 0 {
		return nil
	}
	return jsii.Number(units)
}

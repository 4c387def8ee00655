package ratelimit

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
	"github.com/slidegate/slidegate/internal/observe/telemetry/watch"
)

// limiter is the value of the dimension Limiter, inside the limiter's own stack.
func (r *RateLimit) limiter() string { return *awscdk.Aws_STACK_NAME() + "/" + r.outputID() }

// metric returns a metric of the limiter over 5 minutes, also for another stack.
// The options replace what they state.
func (r *RateLimit) metric(name string, options *awscloudwatch.MetricOptions, rule ...*string) awscloudwatch.Metric {
	dimensions := map[string]*string{metric.Limiter: jsii.String(*awscdk.Stack_Of(r).StackName() + "/" + r.outputID())}
	for _, name := range rule { // one at most
		dimensions[metric.Rule] = name
	}
	m := awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		Namespace: jsii.String(metric.Namespace), MetricName: &name, DimensionsMap: &dimensions, Statistic: jsii.String(watch.Stat(name)),
	})
	if options != nil {
		m = m.With(options)
	}
	return m.AttachTo(r)
}

// MetricDecisions counts the requests that were decided.
func (r *RateLimit) MetricDecisions(options *awscloudwatch.MetricOptions) awscloudwatch.Metric {
	return r.metric(metric.Decisions, options)
}

// MetricDenied counts the requests that were denied.
func (r *RateLimit) MetricDenied(options *awscloudwatch.MetricOptions) awscloudwatch.Metric {
	return r.metric(metric.Denied, options)
}

// MetricDeniedByRule counts those that the rule denied.
func (r *RateLimit) MetricDeniedByRule(rule *string, options *awscloudwatch.MetricOptions) awscloudwatch.Metric {
	return r.metric(metric.Denied, options, rule)
}

// MetricShadowDenied counts the requests that a shadow rule or a candidate capacity
// would have denied.
func (r *RateLimit) MetricShadowDenied(options *awscloudwatch.MetricOptions) awscloudwatch.Metric {
	return r.metric(metric.ShadowDenied, options)
}

// MetricShadowDeniedByRule counts those that the rule would have denied. The
// candidate capacity of a rule has the name "RULE candidate".
func (r *RateLimit) MetricShadowDeniedByRule(rule *string, options *awscloudwatch.MetricOptions) awscloudwatch.Metric {
	return r.metric(metric.ShadowDenied, options, rule)
}

// MetricNearLimit counts the units that were taken above 80% of a limit.
func (r *RateLimit) MetricNearLimit(options *awscloudwatch.MetricOptions) awscloudwatch.Metric {
	return r.metric(metric.NearLimit, options)
}

// MetricNearLimitByRule counts those of a limit of the rule.
func (r *RateLimit) MetricNearLimitByRule(rule *string, options *awscloudwatch.MetricOptions) awscloudwatch.Metric {
	return r.metric(metric.NearLimit, options, rule)
}

// MetricDegraded counts the decisions that on_error made, or that lacked rules or
// keys to verify a token.
func (r *RateLimit) MetricDegraded(options *awscloudwatch.MetricOptions) awscloudwatch.Metric {
	return r.metric(metric.Degraded, options)
}

// MetricRejected counts the requests that were refused for their credentials.
func (r *RateLimit) MetricRejected(options *awscloudwatch.MetricOptions) awscloudwatch.Metric {
	return r.metric(metric.Rejected, options)
}

// MetricRefunded counts the charges that were returned.
func (r *RateLimit) MetricRefunded(options *awscloudwatch.MetricOptions) awscloudwatch.Metric {
	return r.metric(metric.Refunded, options)
}

// MetricSnapshotDenials counts the denials that took no call of DynamoDB.
func (r *RateLimit) MetricSnapshotDenials(options *awscloudwatch.MetricOptions) awscloudwatch.Metric {
	return r.metric(metric.SnapshotDenials, options)
}

// MetricStoreAttempts counts the requests for counters that were sent to DynamoDB.
func (r *RateLimit) MetricStoreAttempts(options *awscloudwatch.MetricOptions) awscloudwatch.Metric {
	return r.metric(metric.StoreAttempts, options)
}

// MetricStoreLatency is the time of such a request in milliseconds, by default its
// 99th percentile.
func (r *RateLimit) MetricStoreLatency(options *awscloudwatch.MetricOptions) awscloudwatch.Metric {
	return r.metric(metric.StoreLatency, options)
}

// MetricWrites counts the requests to DynamoDB that write.
func (r *RateLimit) MetricWrites(options *awscloudwatch.MetricOptions) awscloudwatch.Metric {
	return r.metric(metric.Writes, options)
}

// MetricReads counts the requests to DynamoDB that read.
func (r *RateLimit) MetricReads(options *awscloudwatch.MetricOptions) awscloudwatch.Metric {
	return r.metric(metric.Reads, options)
}

// MetricRulesVersion is the version of the rules in force, by default the newest of
// all environments of the Lambda.
func (r *RateLimit) MetricRulesVersion(options *awscloudwatch.MetricOptions) awscloudwatch.Metric {
	return r.metric(metric.RulesVersion, options)
}

// MetricRulesAge is the time in seconds since the rules in force were last found to be
// the newest, by default the maximum.
func (r *RateLimit) MetricRulesAge(options *awscloudwatch.MetricOptions) awscloudwatch.Metric {
	return r.metric(metric.RulesAge, options)
}

// MetricBreakerOpen is 1 while the circuit breaker keeps requests from DynamoDB.
func (r *RateLimit) MetricBreakerOpen(options *awscloudwatch.MetricOptions) awscloudwatch.Metric {
	return r.metric(metric.BreakerOpen, options)
}

// MetricLocalKeys is the number of keys that an environment of the Lambda counted by
// itself in its latest outages, by default the maximum.
func (r *RateLimit) MetricLocalKeys(options *awscloudwatch.MetricOptions) awscloudwatch.Metric {
	return r.metric(metric.LocalKeys, options)
}

// Written by `cd infra && go test . -run TestGenerated -update`. Do not edit.
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';

export const NAMESPACE = "Slidegate";

/** The answers that a REST API gives in place of a backend. */
export const GATEWAY_RESPONSES: { type: string; status?: number; headers: { [name: string]: string }; body?: string; fallback?: string }[] = [
  { type: "ACCESS_DENIED", status: 429, headers: {"Access-Control-Allow-Origin":"'*'","Access-Control-Expose-Headers":"'RateLimit,RateLimit-Policy,Retry-After,X-RateLimit-Limit,X-RateLimit-Remaining,X-RateLimit-Reset,X-RateLimit-Retry-After'","Content-Type":"'application/problem+json'","RateLimit":"context.authorizer.rateLimit","RateLimit-Policy":"context.authorizer.rateLimitPolicy","Retry-After":"context.authorizer.retryAfter","X-RateLimit-Limit":"context.authorizer.xRateLimitLimit","X-RateLimit-Remaining":"context.authorizer.xRateLimitRemaining","X-RateLimit-Reset":"context.authorizer.xRateLimitReset","X-RateLimit-Retry-After":"context.authorizer.xRateLimitRetryAfter"}, body: "{\"type\":\"$context.authorizer.problemType\",\"title\":\"$context.authorizer.problemTitle\",\"status\":429,\"violated-policies\":[\"$context.authorizer.rule\"]}" },
  { type: "UNAUTHORIZED", status: 401, headers: {"Access-Control-Allow-Origin":"'*'","Access-Control-Expose-Headers":"'RateLimit,RateLimit-Policy,Retry-After,X-RateLimit-Limit,X-RateLimit-Remaining,X-RateLimit-Reset,X-RateLimit-Retry-After'","WWW-Authenticate":"'Bearer error=\"invalid_token\"'"} },
  { type: "THROTTLED", status: 429, headers: {"Access-Control-Allow-Origin":"'*'","Access-Control-Expose-Headers":"'RateLimit,RateLimit-Policy,Retry-After,X-RateLimit-Limit,X-RateLimit-Remaining,X-RateLimit-Reset,X-RateLimit-Retry-After'","Content-Type":"'application/problem+json'","Retry-After":"'1'"}, body: "{\"type\":\"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity\",\"title\":\"Request cannot be satisfied due to temporary server capacity constraints\",\"status\":429}", fallback: "DEFAULT_4XX" },
  { type: "QUOTA_EXCEEDED", status: 429, headers: {"Access-Control-Allow-Origin":"'*'","Access-Control-Expose-Headers":"'RateLimit,RateLimit-Policy,Retry-After,X-RateLimit-Limit,X-RateLimit-Remaining,X-RateLimit-Reset,X-RateLimit-Retry-After'","Content-Type":"'application/problem+json'"}, body: "{\"type\":\"https://iana.org/assignments/http-problem-types#quota-exceeded\",\"title\":\"Request cannot be satisfied as assigned quota has been exceeded\",\"status\":429}", fallback: "DEFAULT_4XX" },
  { type: "AUTHORIZER_FAILURE", status: 500, headers: {"Access-Control-Allow-Origin":"'*'","Access-Control-Expose-Headers":"'RateLimit,RateLimit-Policy,Retry-After,X-RateLimit-Limit,X-RateLimit-Remaining,X-RateLimit-Reset,X-RateLimit-Retry-After'","Content-Type":"'application/problem+json'"}, body: "{\"type\":\"about:blank\",\"title\":\"Internal Server Error\",\"status\":500}", fallback: "DEFAULT_5XX" },
  { type: "AUTHORIZER_CONFIGURATION_ERROR", status: 500, headers: {"Access-Control-Allow-Origin":"'*'","Access-Control-Expose-Headers":"'RateLimit,RateLimit-Policy,Retry-After,X-RateLimit-Limit,X-RateLimit-Remaining,X-RateLimit-Reset,X-RateLimit-Retry-After'","Content-Type":"'application/problem+json'"}, body: "{\"type\":\"about:blank\",\"title\":\"Internal Server Error\",\"status\":500}", fallback: "DEFAULT_5XX" },
  { type: "DEFAULT_4XX", headers: {"Access-Control-Allow-Origin":"'*'","Access-Control-Expose-Headers":"'RateLimit,RateLimit-Policy,Retry-After,X-RateLimit-Limit,X-RateLimit-Remaining,X-RateLimit-Reset,X-RateLimit-Retry-After'"} },
  { type: "DEFAULT_5XX", headers: {"Access-Control-Allow-Origin":"'*'","Access-Control-Expose-Headers":"'RateLimit,RateLimit-Policy,Retry-After,X-RateLimit-Limit,X-RateLimit-Remaining,X-RateLimit-Reset,X-RateLimit-Retry-After'"} },
];

/** The metrics of a RateLimit. */
export abstract class RateLimitMetrics extends Construct {
  /** @internal */
  protected abstract _metric(name: string, statistic: string, options?: cloudwatch.MetricOptions, rule?: string): cloudwatch.Metric;

  /** Requests that were decided. By default over 5 minutes, by Sum. */
  public metricDecisions(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this._metric("Decisions", "Sum", options);
  }

  /** Requests that were denied, by the rule that denied them. By default over 5 minutes, by Sum. */
  public metricDenied(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this._metric("Denied", "Sum", options);
  }

  /** The part of one rule: Requests that were denied, by the rule that denied them. By default over 5 minutes, by Sum. */
  public metricDeniedByRule(rule: string, options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this._metric("Denied", "Sum", options, rule);
  }

  /** Requests that a shadow rule or a candidate capacity would have denied. By default over 5 minutes, by Sum. */
  public metricShadowDenied(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this._metric("ShadowDenied", "Sum", options);
  }

  /** The part of one rule: Requests that a shadow rule or a candidate capacity would have denied. By default over 5 minutes, by Sum. */
  public metricShadowDeniedByRule(rule: string, options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this._metric("ShadowDenied", "Sum", options, rule);
  }

  /** Units that were taken above 80% of a limit. By default over 5 minutes, by Sum. */
  public metricNearLimit(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this._metric("NearLimit", "Sum", options);
  }

  /** The part of one rule: Units that were taken above 80% of a limit. By default over 5 minutes, by Sum. */
  public metricNearLimitByRule(rule: string, options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this._metric("NearLimit", "Sum", options, rule);
  }

  /** Decisions that on_error made, or that lacked rules or keys to verify a token. By default over 5 minutes, by Sum. */
  public metricDegraded(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this._metric("Degraded", "Sum", options);
  }

  /** Requests that no rule denied, and that were refused for their credentials. By default over 5 minutes, by Sum. */
  public metricRejected(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this._metric("Rejected", "Sum", options);
  }

  /** Charges that were returned, because a later rule denied the request or by its outcome. By default over 5 minutes, by Sum. */
  public metricRefunded(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this._metric("Refunded", "Sum", options);
  }

  /** Denials that an earlier answer of the store proved, without a call. By default over 5 minutes, by Sum. */
  public metricSnapshotDenials(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this._metric("SnapshotDenials", "Sum", options);
  }

  /** Requests that were sent to the store, with or without an answer: charges, corrections, and renewals of places in flight. By default over 5 minutes, by Sum. */
  public metricStoreAttempts(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this._metric("StoreAttempts", "Sum", options);
  }

  /** The time from such a request to its answer or failure. By default over 5 minutes, by p99. */
  public metricStoreLatency(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this._metric("StoreLatency", "p99", options);
  }

  /** Requests to DynamoDB that write. By default over 5 minutes, by Sum. */
  public metricWrites(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this._metric("Writes", "Sum", options);
  }

  /** Requests to DynamoDB that read: counters, rules, overrides and API keys. By default over 5 minutes, by Sum. */
  public metricReads(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this._metric("Reads", "Sum", options);
  }

  /** The version of the rules in force, by their table. By default over 5 minutes, by Maximum. */
  public metricRulesVersion(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this._metric("RulesVersion", "Maximum", options);
  }

  /** The time since the rules in force were last found to be the newest. By default over 5 minutes, by Maximum. */
  public metricRulesAge(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this._metric("RulesAge", "Maximum", options);
  }

  /** 1 while the circuit breaker of the counters keeps requests from a store that does not answer. By default over 5 minutes, by Maximum. */
  public metricBreakerOpen(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this._metric("BreakerOpen", "Maximum", options);
  }

  /** Keys that this process counted by itself in its latest outages, by on_error: local. By default over 5 minutes, by Maximum. */
  public metricLocalKeys(options?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this._metric("LocalKeys", "Maximum", options);
  }
}

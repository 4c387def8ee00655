import { createHash } from 'crypto';
import { readFileSync } from 'fs';
import { extname } from 'path';
import { Annotations, CfnResource, RemovalPolicy, SecretValue, Stack } from 'aws-cdk-lib';
import { CfnInclude } from 'aws-cdk-lib/cloudformation-include';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import { Asset } from 'aws-cdk-lib/aws-s3-assets';
import * as sns from 'aws-cdk-lib/aws-sns';
import { Construct, IConstruct } from 'constructs';
import { NAMESPACE, RateLimitMetrics } from './generated';
import { protect, warnNothing } from './protect';
import { asset, include } from './template';

/** What a deployment does with rules that were changed by hand since the last one. */
export enum OnChangedRules {
  /** Fails, and says who changed what and how to keep or discard that. */
  FAIL = 'fail',
  /** Publishes the file all the same. */
  OVERWRITE = 'overwrite',
  /** Publishes nothing. */
  KEEP = 'keep',
}

/** Properties of a RateLimit. All are optional. */
export interface RateLimitProps {
  /**
   * The path of a rules file, which each deployment checks and publishes. A file
   * that is not valid fails the deployment. `slidegate rules validate` checks it before.
   * Its name ends in .yaml.
   *
   * @default - publish rules by `slidegate rules apply`; until then all requests pass
   */
  readonly rules?: string;

  /**
   * What a deployment of another file does with rules that were changed by hand.
   *
   * @default OnChangedRules.FAIL
   */
  readonly onChangedRules?: OnChangedRules;

  /**
   * The architecture of the Lambdas. The package has their code for both.
   *
   * @default Architecture.ARM_64
   */
  readonly architecture?: lambda.Architecture;

  /**
   * Environment variables of the authorizer from Secrets Manager:
   * SLIDEGATE_RECEIPT_SECRET, and those that the rules name. Who may read the
   * function's configuration can read them.
   *
   * @default - none
   */
  readonly secrets?: { [variable: string]: SecretValue };

  /**
   * Lets denied requests of HTTP APIs through to their backends, which must answer
   * them: a backend that does not is not limited.
   *
   * @default false - an HTTP API answers 403
   */
  readonly passDenials?: boolean;

  /**
   * Adds a function that programs without a server invoke for decisions and usage, in
   * any language: see `grantDecide`. It needs SLIDEGATE_RECEIPT_SECRET in `secrets`.
   *
   * @default false
   */
  readonly decide?: boolean;

  /**
   * Adds a function that programs without a server invoke for settlements and
   * renewals, in any language: see `grantSettle`. It needs SLIDEGATE_RECEIPT_SECRET in
   * `secrets`.
   *
   * @default false
   */
  readonly settle?: boolean;

  /**
   * A topic that hears of each alarm, and of its end.
   *
   * @default - alarms show in CloudWatch alone
   */
  readonly alarmTopic?: sns.ITopic;

  /**
   * Adds an alarm on more writes to DynamoDB in 24 hours.
   *
   * @default - no such alarm
   */
  readonly maxWritesPerDay?: number;

  /**
   * Leaves out the metrics, and so the dashboard and the alarms on them.
   *
   * @default false
   */
  readonly withoutMetrics?: boolean;

  /**
   * Leaves out the alarms.
   *
   * @default false
   */
  readonly withoutAlarms?: boolean;

  /**
   * Leaves out the dashboard.
   *
   * @default false
   */
  readonly withoutDashboard?: boolean;

  /**
   * What becomes of the tables and the log when the stack is deleted. With RETAIN
   * alone the rules table has deletion protection.
   *
   * @default RemovalPolicy.RETAIN
   */
  readonly removalPolicy?: RemovalPolicy;

  /**
   * Is for a limiter without `protect` in this app: authorizers of all APIs of the
   * account and region may call it, and no warning says that it protects nothing.
   *
   * @default false
   */
  readonly standalone?: boolean;
}

/**
 * Slidegate for the APIs that share rules: two tables, the Lambda authorizer, the
 * Lambda that publishes rules, functions that programs invoke, alarms and a dashboard. They are those of the
 * release's CloudFormation template. A stack has one.
 */
export class RateLimit extends RateLimitMetrics {
  /** The table of counters. */
  public readonly countersTable: dynamodb.ITable;
  /** The table of rules. */
  public readonly rulesTable: dynamodb.ITable;
  /** The authorizer. */
  public readonly authorizer: lambda.IFunction;
  /** The authorizer's resource, for options that RateLimitProps lack, such as memory. */
  public readonly cfnAuthorizer: lambda.CfnFunction;
  /** What programs invoke for decisions and usage; undefined without `decide`. */
  public readonly decideFunction?: lambda.IFunction;
  /** What programs invoke for settlements and renewals; undefined without `settle`. */
  public readonly settleFunction?: lambda.IFunction;
  /** The template, whose resources an app may change. */
  public readonly template: CfnInclude;

  private readonly counters: dynamodb.CfnTable;
  private readonly cfnDecide?: lambda.CfnFunction;
  private readonly cfnSettle?: lambda.CfnFunction;

  constructor(scope: Construct, id: string, props: RateLimitProps = {}) {
    super(scope, id);
    if (Stack.of(this).node.findAll().some(c => c instanceof RateLimit && c !== this)) {
      throw new Error(`RateLimit ${id}: the stack has a limiter, and a stack has one: create this one in another stack`);
    }
    checkProps(id, props);
    // Each API gets a permission of its own in place of the one for all APIs. The
    // version is for updates by `slidegate aws deploy`.
    const drop = props.standalone ? /^SlidegateVersion$/ : /^(SlidegateVersion$|AuthorizerUri$|RateLimitFunctionGateways)/;
    this.template = include(this, this.parameters(props), drop);
    this.cfnAuthorizer = this.resource<lambda.CfnFunction>('Function');
    this.counters = this.resource<dynamodb.CfnTable>('Counters');
    const reference = (name: string, of?: lambda.CfnFunction) => of && lambda.Function.fromFunctionAttributes(this, name, {
      functionArn: of.attrArn, sameEnvironment: true,
    });
    this.authorizer = reference('Authorizer', this.cfnAuthorizer)!;
    this.cfnDecide = this.resource<lambda.CfnFunction>('Decide');
    this.cfnSettle = this.resource<lambda.CfnFunction>('Settle');
    this.decideFunction = reference('DecideFunction', this.cfnDecide);
    this.settleFunction = reference('SettleFunction', this.cfnSettle);
    this.countersTable = dynamodb.Table.fromTableName(this, 'CountersTable', this.counters.ref);
    this.rulesTable = dynamodb.Table.fromTableName(this, 'RulesTable', this.resource('Rules').ref);
    if (props.rules) {
      this.resource('PublishedRules').addPropertyOverride('File', props.rules); // for messages
    }
    this.setEnvironment(props);
    this.setRemovalPolicy(props.removalPolicy ?? RemovalPolicy.RETAIN);
    if (!props.standalone) {
      Annotations.of(this).addWarningV2(warnNothing, 'Slidegate: the limiter protects no API: call protect with each, or set standalone');
    }
  }

  /**
   * Puts an API of the app behind the limiter: a RestApi, HttpApi or WebSocketApi.
   * Methods and routes that the app adds later are covered too.
   *
   * The authorizer gets every method and route that has none, except OPTIONS: a
   * preflight carries no credentials. Of a WebSocketApi it gets $connect. A REST API
   * then answers denials with 429 and the rate limit fields. The others answer 403.
   *
   * What is wrong with an API is an error at synthesis.
   *
   * @param api the API, which this app defines
   */
  public protect(api: IConstruct): void {
    Annotations.of(this).acknowledgeWarning(warnNothing);
    protect(this.cfnAuthorizer.attrArn, api);
  }

  /**
   * Lets a program ask for decisions and usage: it may invoke `decideFunction`, and
   * do nothing else. The props need `decide`.
   *
   * @param program the role or function
   */
  public grantDecide(program: iam.IGrantable): iam.Grant {
    if (!this.cfnDecide) {
      throw new Error(`RateLimit ${this.node.id}: grantDecide has no function to grant: set decide`);
    }
    return grant(program, 'lambda:InvokeFunction', this.cfnDecide.attrArn);
  }

  /**
   * Lets a program settle. With `settle` in the props, it may invoke
   * `settleFunction`, and do nothing else. Without, it may update counters, and do
   * nothing else, as Go backends do that settle by the authorizer's receipts. An app
   * with both kinds grants these backends dynamodb:UpdateItem by `countersTable.grant`.
   *
   * @param program the role or function
   */
  public grantSettle(program: iam.IGrantable): iam.Grant {
    return this.cfnSettle
      ? grant(program, 'lambda:InvokeFunction', this.cfnSettle.attrArn)
      : grant(program, 'dynamodb:UpdateItem', this.counters.attrArn);
  }

  /** @internal */
  protected _metric(name: string, statistic: string, options?: cloudwatch.MetricOptions, rule?: string): cloudwatch.Metric {
    const dimensionsMap: { [name: string]: string } = { Limiter: `${Stack.of(this).stackName}/RateLimit` };
    if (rule) {
      dimensionsMap.Rule = rule;
    }
    const metric = new cloudwatch.Metric({ namespace: NAMESPACE, metricName: name, dimensionsMap, statistic });
    return (options ? metric.with(options) : metric).attachTo(this);
  }

  private parameters(props: RateLimitProps): { [parameter: string]: string } {
    const goarch = props.architecture?.name === 'x86_64' ? 'amd64' : 'arm64';
    const authorizer = new Asset(this, 'AuthorizerCode', { path: asset(`authorizer_${goarch}.zip`) });
    const operations = new Asset(this, 'OperationsCode', { path: asset(`operations_${goarch}.zip`) });
    const rules = props.rules ? new Asset(this, 'RulesFile', { path: props.rules }) : undefined;
    return {
      Architecture: props.architecture?.name ?? 'arm64',
      CodeBucket: authorizer.s3BucketName,
      AuthorizerKey: authorizer.s3ObjectKey,
      OperationsKey: operations.s3ObjectKey,
      RulesBucket: (rules ?? operations).s3BucketName, // which the role of the Lambda names also without rules
      RulesKey: rules?.s3ObjectKey ?? '',
      RulesHash: props.rules ? createHash('sha256').update(readFileSync(props.rules)).digest('hex') : '',
      OnChangedRules: props.onChangedRules ?? OnChangedRules.FAIL,
      AlarmTopic: props.alarmTopic?.topicArn ?? '',
      MaxWritesPerDay: String(props.maxWritesPerDay ?? 0),
      Decide: props.decide ? 'on' : 'off',
      Settle: props.settle ? 'on' : 'off',
      Metrics: props.withoutMetrics ? 'off' : 'on',
      Alarms: props.withoutAlarms ? 'off' : 'on',
      Dashboard: props.withoutDashboard ? 'off' : 'on',
    };
  }

  /** setEnvironment gives each function what Go's construct does. A settlement needs no secret but that of receipts. */
  private setEnvironment(props: RateLimitProps): void {
    const variables: { [name: string]: string } = {};
    for (const [name, secret] of Object.entries(props.secrets ?? {})) {
      variables[name] = secret.unsafeUnwrap();
    }
    if (props.passDenials) {
      variables.SLIDEGATE_PASS_DENIALS = 'true';
    }
    const receipts = { [RECEIPT_SECRET]: variables[RECEIPT_SECRET] };
    for (const [f, given] of [[this.cfnAuthorizer, variables], [this.cfnDecide, variables], [this.cfnSettle, receipts]] as const) {
      if (!props.withoutMetrics) { // as the Go construct, which does not state a default
        f?.addPropertyDeletionOverride('Environment.Variables.SLIDEGATE_METRICS');
      }
      for (const [name, value] of Object.entries(given)) {
        f?.addPropertyOverride(`Environment.Variables.${name}`, value);
      }
    }
  }

  private setRemovalPolicy(policy: RemovalPolicy): void {
    const rules = this.resource<dynamodb.CfnTable>('Rules');
    for (const kept of [this.counters, rules, this.resource<logs.CfnLogGroup>('Log')]) {
      kept.applyRemovalPolicy(policy);
    }
    rules.deletionProtectionEnabled = policy === RemovalPolicy.RETAIN;
  }

  /** resource finds a resource of Go's construct, whose logical id is its path and eight digits of a hash. */
  private resource<T extends CfnResource>(name: string): T {
    const found = this.template.node.children.find(c => c.node.id.slice(0, -8) === `RateLimit${name}`);
    return found as T;
  }
}

const RECEIPT_SECRET = 'SLIDEGATE_RECEIPT_SECRET';

function grant(grantee: iam.IGrantable, action: string, resource: string): iam.Grant {
  return iam.Grant.addToPrincipal({ grantee, actions: [action], resourceArns: [resource] });
}

function checkProps(id: string, props: RateLimitProps): void {
  const refuse = (problem: string) => {
    throw new Error(`RateLimit ${id}: ${problem}`);
  };
  if (props.rules !== undefined && extname(props.rules) !== '.yaml') {
    refuse(`the name of the rules file ${props.rules} does not end in .yaml, which alone the Lambda that publishes it may read: rename it`);
  }
  const writes = props.maxWritesPerDay ?? 0;
  if (!Number.isInteger(writes) || writes < 0) {
    refuse(`maxWritesPerDay ${writes} is not a whole number above 0: leave it out for no alarm`);
  }
  if ((props.withoutAlarms && props.alarmTopic) || ((props.withoutAlarms || props.withoutMetrics) && writes > 0)) {
    refuse('alarmTopic and maxWritesPerDay are for alarms, and the latter is on a metric: leave them out, or withoutAlarms and withoutMetrics');
  }
  if ((props.decide || props.settle) && !props.secrets?.[RECEIPT_SECRET]) {
    refuse(`there are no receipts for decide and settle without the variable ${RECEIPT_SECRET}: add it to secrets`);
  }
  for (const name of Object.keys(props.secrets ?? {})) {
    if (!/^[A-Za-z][A-Za-z0-9_]+$/.test(name)) {
      refuse(`the secret "${name}" has a name that Lambda does not take: use letters, digits and _, such as SLIDEGATE_RECEIPT_SECRET`);
    }
    if (['COUNTERS', 'RULES', 'LIMITER', 'DEADLINE', 'PASS_DENIALS', 'METRICS'].includes(name.replace(/^SLIDEGATE_/, ''))) {
      refuse(`the construct sets the variable ${name}: leave it out of secrets`);
    }
  }
}

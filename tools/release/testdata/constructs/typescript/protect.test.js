// What protect says of APIs that it cannot limit, or not wholly: `node --test`.
const assert = require('node:assert');
const { test } = require('node:test');
const { App, Aspects, Duration, SecretValue, Stack } = require('aws-cdk-lib');
const { Annotations, Match, Template } = require('aws-cdk-lib/assertions');
const apigateway = require('aws-cdk-lib/aws-apigateway');
const apigatewayv2 = require('aws-cdk-lib/aws-apigatewayv2');
const { HttpUrlIntegration } = require('aws-cdk-lib/aws-apigatewayv2-integrations');
const iam = require('aws-cdk-lib/aws-iam');
const secretsmanager = require('aws-cdk-lib/aws-secretsmanager');
const sns = require('aws-cdk-lib/aws-sns');
const { RateLimit } = require('slidegate-cdk');

const rest = (stack, props) => {
  const api = new apigateway.RestApi(stack, 'Api', props);
  api.root.addMethod('GET');
  return api;
};
const http = (stack, props) => new apigatewayv2.HttpApi(stack, 'Api', props);
const integration = () => new HttpUrlIntegration('Server', 'http://backend.example');

// Each makes an API of a stack with a limiter.
const cases = {
  'a REST API': { api: stack => rest(stack) },
  'twice': {
    api: (stack, limiter) => {
      const api = rest(stack);
      limiter.protect(api);
      return api;
    },
    error: 'call protect once for each API',
  },
  'an authorizer of the app': {
    api: stack => {
      const api = new apigateway.RestApi(stack, 'Api');
      api.root.addMethod('GET', undefined, { authorizationType: apigateway.AuthorizationType.IAM });
      return api;
    },
    error: 'it has authorization by AWS_IAM, and API Gateway asks one authorizer only',
  },
  'a TOKEN authorizer by the limiter': {
    api: (stack, limiter) => {
      const api = new apigateway.RestApi(stack, 'Api');
      const authorizer = new apigateway.TokenAuthorizer(stack, 'Token', { handler: limiter.authorizer, resultsCacheTtl: Duration.seconds(0) });
      api.root.addMethod('GET', undefined, { authorizer });
      return api;
    },
  },
  'a TOKEN authorizer that caches': {
    api: (stack, limiter) => {
      const api = new apigateway.RestApi(stack, 'Api');
      const authorizer = new apigateway.TokenAuthorizer(stack, 'Token', { handler: limiter.authorizer });
      api.root.addMethod('GET', undefined, { authorizer });
      return api;
    },
    error: "it caches the limiter's answers",
  },
  'a definition': {
    api: stack => new apigateway.SpecRestApi(stack, 'Api', { apiDefinition: apigateway.ApiDefinition.fromInline({ openapi: '3.0.1', paths: {} }) }),
    error: 'protect cannot change a definition',
  },
  'an imported API': { api: stack => apigateway.RestApi.fromRestApiId(stack, 'Api', 'a1b2'), error: 'protect cannot change this' },
  'a method of a late aspect': {
    api: stack => {
      const api = rest(stack);
      Aspects.of(stack).add({ visit: node => node === api && !node.root.node.tryFindChild('PUT') && api.root.addMethod('PUT') });
      return api;
    },
    error: 'another aspect adds this',
  },
  'no deployment': { api: stack => rest(stack, { deploy: false }), warning: 'the API has deploy: false' },
  'a gateway response of the app': {
    api: stack => {
      const api = rest(stack);
      api.addGatewayResponse('Denied', { type: apigateway.ResponseType.ACCESS_DENIED, statusCode: '403' });
      return api;
    },
    warning: "the app's own gateway response ACCESS_DENIED stays in place of the limiter's, and lacks the status 429, Access-Control-Allow-Origin",
  },
  "a throttle's answer of the app": {
    api: stack => {
      const api = rest(stack);
      api.addGatewayResponse('Throttled', { type: apigateway.ResponseType.THROTTLED, statusCode: '503' });
      return api;
    },
  },
  'preflights': {
    api: stack => http(stack, { defaultIntegration: integration(), corsPreflight: { allowOrigins: ['*'] } }),
    warning: 'the route $default receives preflights',
  },
  'a stage without deployments': {
    api: stack => {
      const api = http(stack, { defaultIntegration: integration(), createDefaultStage: false });
      new apigatewayv2.HttpStage(stack, 'Stage', { httpApi: api });
      return api;
    },
    warning: 'the stage has no autoDeploy',
  },
  'no connections': { api: stack => new apigatewayv2.WebSocketApi(stack, 'Api'), error: 'the API has no route $connect' },
};

for (const [name, { api, error, warning }] of Object.entries(cases)) {
  test(name, () => {
    const stack = new Stack(new App(), 'Stack');
    const limiter = new RateLimit(stack, 'RateLimit');
    limiter.protect(api(stack, limiter));
    const said = Annotations.fromStack(stack);
    const found = list => list.map(({ entry }) => entry.data);
    const [errors, warnings] = [found(said.findError('*', Match.anyValue())), found(said.findWarning('*', Match.anyValue()))];
    assert.match(errors.join('\n'), error ? new RegExp(escape(error)) : /^$/);
    assert.match(warnings.filter(w => w.includes('Slidegate')).join('\n'), warning ? new RegExp(escape(warning)) : /^$/);
  });
}

const escape = text => text.replace(/[$.*+?()]/g, '\\$&');

test("the app's answers in place of the gateway's own", () => {
  const kinds = (...app) => {
    const stack = new Stack(new App(), 'Stack');
    const limiter = new RateLimit(stack, 'RateLimit');
    const api = rest(stack);
    app.forEach(props => api.addGatewayResponse(props.type.responseType, props));
    limiter.protect(api);
    return Object.values(Template.fromStack(stack).findResources('AWS::ApiGateway::GatewayResponse')).map(r => r.Properties.ResponseType).sort();
  };
  const [type, templates] = [apigateway.ResponseType.DEFAULT_5XX, { 'application/json': '{"error":1}' }];
  const all = kinds();
  assert.deepEqual(kinds({ type }), all);
  assert.deepEqual(kinds({ type, templates }), all.filter(kind => !kind.startsWith('AUTHORIZER_')));
  assert.deepEqual(kinds({ type: apigateway.ResponseType.THROTTLED }), all);
});

test("the fields of the app's defaults stay", () => {
  const stack = new Stack(new App(), 'Stack');
  const api = rest(stack);
  const responseHeaders = { 'access-control-allow-origin': "'https://app.example'", 'Access-Control-Allow-Credentials': "'true'", 'Retry-After': "'9'" };
  api.addGatewayResponse('Mine', { type: apigateway.ResponseType.DEFAULT_4XX, responseHeaders });
  new RateLimit(stack, 'RateLimit').protect(api);
  const all = Object.values(Template.fromStack(stack).findResources('AWS::ApiGateway::GatewayResponse')).map(r => r.Properties);
  const fields = kind => {
    const { ResponseParameters: has } = all.find(r => r.ResponseType === kind);
    return ['access-control-allow-origin', 'Access-Control-Allow-Origin', 'Access-Control-Allow-Credentials', 'Retry-After']
      .map(name => has[`gatewayresponse.header.${name}`]);
  };
  const app = ["'https://app.example'", undefined, "'true'"];
  assert.deepEqual(fields('THROTTLED'), [...app, "'9'"]);
  assert.deepEqual(fields('UNAUTHORIZED'), [...app, "'9'"]);
  assert.deepEqual(fields('ACCESS_DENIED'), [...app, 'context.authorizer.retryAfter']);
  assert.deepEqual(fields('AUTHORIZER_FAILURE'), [undefined, "'*'", undefined, undefined]);
});

test('a limiter that protects nothing', () => {
  const stack = new Stack(new App(), 'Stack');
  new RateLimit(stack, 'RateLimit');
  Annotations.fromStack(stack).hasWarning('*', Match.stringLikeRegexp('the limiter protects no API'));
  Template.fromStack(stack).resourceCountIs('AWS::Lambda::Permission', 0);
});

test('a limiter for APIs of other stacks', () => {
  const stack = new Stack(new App(), 'Stack');
  new RateLimit(stack, 'RateLimit', { standalone: true });
  Annotations.fromStack(stack).hasNoWarning('*', Match.anyValue());
  Template.fromStack(stack).resourceCountIs('AWS::Lambda::Permission', 1);
  Template.fromStack(stack).hasOutput('AuthorizerUri', {});
});

test('an API of another stack, which alone depends on the other', () => {
  const app = new App();
  const limiter = new RateLimit(new Stack(app, 'Limiter'), 'RateLimit');
  const stack = new Stack(app, 'Shop');
  limiter.protect(rest(stack));
  Template.fromStack(stack).resourceCountIs('AWS::Lambda::Permission', 1);
  Template.fromStack(stack).hasResourceProperties('AWS::ApiGateway::Method', { AuthorizationType: 'CUSTOM' });
  assert.deepEqual(limiter.template.stack.dependencies, []);
});

test('a limiter without its parts', () => {
  const count = (props, type) => {
    const stack = new Stack(new App(), 'Stack');
    new RateLimit(stack, 'RateLimit', props);
    return Object.keys(Template.fromStack(stack).findResources(type)).length;
  };
  const [alarm, dashboard] = ['AWS::CloudWatch::Alarm', 'AWS::CloudWatch::Dashboard'];
  assert.deepEqual([count({}, alarm), count({ maxWritesPerDay: 9 }, alarm), count({ withoutMetrics: true }, alarm), count({ withoutAlarms: true }, alarm)],
    [8, 9, 4, 0]);
  assert.deepEqual([count({}, dashboard), count({ withoutMetrics: true }, dashboard), count({ withoutDashboard: true }, dashboard)], [1, 0, 0]);
});

test('secrets, denials and a topic', () => {
  const stack = new Stack(new App(), 'Stack');
  const secret = new secretsmanager.Secret(stack, 'Secret');
  const alarmTopic = new sns.Topic(stack, 'Topic');
  new RateLimit(stack, 'RateLimit', { secrets: { SLIDEGATE_RECEIPT_SECRET: secret.secretValue }, passDenials: true, alarmTopic });
  const template = Template.fromStack(stack);
  const [{ Properties: authorizer }] = Object.values(template.findResources('AWS::Lambda::Function', { Properties: { Handler: 'bootstrap' } }));
  const variables = authorizer.Environment.Variables;
  assert.deepEqual(Object.keys(variables).sort(),
    ['SLIDEGATE_COUNTERS', 'SLIDEGATE_LIMITER', 'SLIDEGATE_PASS_DENIALS', 'SLIDEGATE_RECEIPT_SECRET', 'SLIDEGATE_RULES']);
  assert.deepEqual(variables.SLIDEGATE_RECEIPT_SECRET, stack.resolve(secret.secretValue.unsafeUnwrap()));
  const topic = stack.resolve(alarmTopic.topicArn);
  template.allResourcesProperties('AWS::CloudWatch::Alarm', { AlarmActions: [topic], OKActions: [topic] });
});

test('props', () => {
  const refused = (props, why) => assert.throws(() => new RateLimit(new Stack(new App(), 'Stack'), 'RateLimit', props), why);
  refused({ rules: 'rules.json' }, /does not end in \.yaml/);
  refused({ rules: 'none.yaml' }, /none\.yaml/);
  refused({ maxWritesPerDay: -1 }, /maxWritesPerDay -1/);
  refused({ secrets: { 'a-b': undefined } }, /the secret "a-b"/);
  refused({ secrets: { SLIDEGATE_LIMITER: undefined } }, /the construct sets the variable SLIDEGATE_LIMITER/);
  refused({ settle: true }, /there are no receipts for decide and settle without the variable SLIDEGATE_RECEIPT_SECRET/);
  const stack = new Stack(new App(), 'Stack');
  new RateLimit(stack, 'RateLimit');
  assert.throws(() => new RateLimit(stack, 'Second'), /a stack has one/);
});

test('metrics and grants', () => {
  const stack = new Stack(new App(), 'Stack');
  const limiter = new RateLimit(stack, 'RateLimit');
  const metric = limiter.metricDeniedByRule('per-ip', { period: Duration.hours(1) });
  assert.deepEqual([metric.namespace, metric.metricName, metric.statistic, metric.dimensions, metric.period.toMinutes()],
    ['Slidegate', 'Denied', 'Sum', { Limiter: 'Stack/RateLimit', Rule: 'per-ip' }, 60]);
  assert.equal(limiter.metricStoreLatency().statistic, 'p99');
  limiter.grantSettle(new iam.Role(stack, 'Backend', { assumedBy: new iam.AccountRootPrincipal() }));
  Template.fromStack(stack).hasResourceProperties('AWS::IAM::Policy', {
    PolicyDocument: { Statement: [{ Action: 'dynamodb:UpdateItem', Resource: stack.resolve(limiter.template.getResource('RateLimitCounters29223C4A').attrArn) }] },
  });
});

test('functions that programs invoke', () => {
  const stack = new Stack(new App(), 'Stack');
  const secrets = { SLIDEGATE_RECEIPT_SECRET: SecretValue.unsafePlainText('receipts'), SHOP_SECRET: SecretValue.unsafePlainText('shop') };
  const limiter = new RateLimit(stack, 'RateLimit', { decide: true, settle: true, secrets });
  const program = new iam.Role(stack, 'Program', { assumedBy: new iam.AccountRootPrincipal() });
  limiter.grantDecide(program);
  limiter.grantSettle(program);
  const template = Template.fromStack(stack);
  template.hasResourceProperties('AWS::IAM::Policy', {
    PolicyDocument: {
      Statement: [limiter.decideFunction, limiter.settleFunction].map(f => ({ Action: 'lambda:InvokeFunction', Resource: stack.resolve(f.functionArn) })),
    },
  });
  for (const [handler, given] of Object.entries({ decide: 'shop', settle: undefined })) {
    const [f] = Object.values(template.findResources('AWS::Lambda::Function', { Properties: { Handler: handler } }));
    const { SLIDEGATE_RECEIPT_SECRET: receipts, SHOP_SECRET: shop, SLIDEGATE_METRICS: metrics } = f.Properties.Environment.Variables;
    assert.deepEqual([receipts, shop, metrics], ['receipts', given, undefined]);
  }
  const without = new RateLimit(new Stack(new App(), 'Without'), 'RateLimit');
  assert.equal(without.decideFunction, undefined);
  assert.throws(() => without.grantDecide(program), /set decide/);
});

// A CDK app with an API behind a limiter: `node app.js rest`, http or websocket.
// It is the app of testdata/stranger in TypeScript.
import { App, CfnOutput, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { RestApi } from 'aws-cdk-lib/aws-apigateway';
import { HttpApi, WebSocketApi, WebSocketStage } from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpUrlIntegration, WebSocketMockIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Architecture } from 'aws-cdk-lib/aws-lambda';
import { RateLimit } from 'slidegate-cdk';

const kind = process.argv[2];
const stack = new Stack(new App(), `Stranger-${kind}`);
const limiter = new RateLimit(stack, 'RateLimit', {
  rules: 'rules.yaml',
  architecture: process.arch === 'x64' ? Architecture.X86_64 : undefined,
  removalPolicy: RemovalPolicy.DESTROY,
});
limiter.cfnAuthorizer.addPropertyOverride('Environment.Variables.SLIDEGATE_DEADLINE', '2s'); // for a slow local AWS

if (kind === 'rest') {
  const api = new RestApi(stack, 'Api');
  api.root.addMethod('GET'); // a mock answers
  protect(api, api.restApiId);
} else if (kind === 'http') {
  const api = new HttpApi(stack, 'Api', { defaultIntegration: new HttpUrlIntegration('Server', process.env.BACKEND!) });
  protect(api, api.apiId);
} else {
  const api = new WebSocketApi(stack, 'Api', { connectRouteOptions: { integration: new WebSocketMockIntegration('Mock') } });
  new WebSocketStage(stack, 'Stage', { webSocketApi: api, stageName: 'prod', autoDeploy: true });
  protect(api, api.apiId);
}

function protect(api: RestApi | HttpApi | WebSocketApi, id: string): void {
  limiter.protect(api);
  new CfnOutput(stack, 'ApiId', { value: id });
}

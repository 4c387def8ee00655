// The code of docs/start/cdk.md in the constructor of a stack that has an API.
import { App, Stack } from 'aws-cdk-lib';
import { RestApi } from 'aws-cdk-lib/aws-apigateway';
import { Architecture } from 'aws-cdk-lib/aws-lambda';
import { RateLimit } from 'slidegate-cdk';

class Page extends Stack {
  constructor(app: App) {
    super(app, 'Page');
    const api = new RestApi(this, 'Api');
    api.root.addMethod('GET');

    const limiter = new RateLimit(this, 'RateLimit', {
      rules: 'rules.yaml',
      architecture: Architecture.ARM_64, // the local AWS of an x86-64 machine needs X86_64
    });
    limiter.protect(api); // a RestApi, HttpApi or WebSocketApi
  }
}

const app = new App();
new Page(app);
app.synth();

import { Annotations, AspectPriority, Aspects, Stack } from 'aws-cdk-lib';
import * as apigateway from 'aws-cdk-lib/aws-apigateway';
import * as apigatewayv2 from 'aws-cdk-lib/aws-apigatewayv2';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct, IConstruct } from 'constructs';
import { GATEWAY_RESPONSES } from './generated';

// What protect does, and the ids of warnings, are those of the Go construct: see
// infra/ratelimit/protect.go.
export const warnNothing = 'slidegate:protects-nothing';
const warnDeployment = 'slidegate:deployment';
const warnResponse = 'slidegate:gateway-response';
const warnPreflight = 'slidegate:preflight';

const DOCS = 'https://github.com/slidegate/slidegate/blob/main/docs/authorizer.md';

type Endpoint = apigateway.CfnMethod | apigatewayv2.CfnRoute;
type Authorizer = apigateway.CfnAuthorizer | apigatewayv2.CfnAuthorizer;

/** protect puts an API behind the function once the app has added everything. */
export function protect(functionArn: string, api: IConstruct): void {
  if (api.node.tryFindChild('Slidegate')) {
    addError(api, 'a limiter protects this API already: call protect once for each API');
  } else if (api instanceof apigateway.RestApi) {
    start(new RestProtection(functionArn, api));
  } else if (api instanceof apigatewayv2.HttpApi) {
    start(new HttpProtection(functionArn, api));
  } else if (api instanceof apigatewayv2.WebSocketApi) {
    start(new WebSocketProtection(functionArn, api));
  } else if (api instanceof apigateway.SpecRestApi) {
    addError(api, `protect cannot change a definition: write the authorizer into it, as ${DOCS}#typescript-and-python describes`);
  } else {
    addError(api, 'protect cannot change this: pass a RestApi, HttpApi or WebSocketApi that this app defines');
  }
}

function start(p: Protection): void {
  let done = false;
  const finish = () => { // at the API itself, which comes before its methods
    if (!done) {
      done = true;
      p.finish();
    }
  };
  Aspects.of(p.api).add({ visit: finish }, { priority: AspectPriority.MUTATING }); // before aspects that check the API
  Aspects.of(p.api).add({ visit: node => p.check(node) }, { priority: AspectPriority.READONLY });
}

/** A Protection is one API behind the limiter. */
abstract class Protection {
  protected readonly scope: Construct;
  protected abstract readonly own: Authorizer;
  private readonly attached = new Map<string, boolean>(); // the endpoints by path: whether they have the authorizer

  constructor(private readonly functionArn: string, readonly api: Construct) {
    this.scope = new Construct(api, 'Slidegate');
  }

  /** Whether an endpoint needs the authorizer. */
  protected abstract covers(e: Endpoint): boolean;

  abstract finish(): void;

  /** check looks at endpoints after all other aspects, of which one may have added an endpoint or replaced its authorizer. */
  check(node: IConstruct): void {
    if (!(isMethod(node) || isRoute(node)) || !this.covers(node)) {
      return;
    }
    const attached = this.attached.get(node.node.path);
    if (attached === undefined || (attached && node.authorizerId !== this.own.ref)) {
      addError(node, 'another aspect adds this, or replaces its authorizer, so nothing limits it: have that aspect run first, by a ' +
        'priority below AspectPriority.MUTATING');
    }
  }

  /** The properties of every authorizer. It has no identity source, without which the gateway itself would answer 401. */
  protected get props(): { name: string; authorizerUri: string } {
    return {
      name: 'Slidegate',
      authorizerUri: Stack.of(this.api).formatArn({
        service: 'apigateway', account: 'lambda', resource: 'path', resourceName: `2015-03-31/functions/${this.functionArn}/invocations`,
      }),
    };
  }

  /** The permission is in the stack of the API, so that the limiter's stack does not depend on it. */
  protected permit(apiId: string): void {
    new lambda.CfnPermission(this.scope, 'Permission', {
      action: 'lambda:InvokeFunction',
      functionName: this.functionArn,
      principal: 'apigateway.amazonaws.com',
      sourceArn: Stack.of(this.api).formatArn({ service: 'execute-api', resource: apiId, resourceName: `authorizers/${this.own.ref}` }),
    });
  }

  /**
   * attach puts the endpoints that need an authorizer and have none behind the
   * limiter's, and returns their paths. It keeps those that the app put behind the
   * limiter's function by an authorizer of another type, such as TOKEN.
   */
  protected attach(endpoints: Endpoint[]): string[] {
    const others = new Map(find(this.api, isAuthorizer).map(a => [a.ref, a]));
    const covered = endpoints.filter(e => this.covers(e));
    for (const e of covered) {
      const open = !e.authorizationType || e.authorizationType === 'NONE';
      this.attached.set(e.node.path, open);
      const other = others.get(e.authorizerId ?? '');
      if (open) {
        e.authorizationType = 'CUSTOM';
        e.authorizerId = this.own.ref;
      } else if (!other?.authorizerUri?.includes(this.functionArn)) {
        const name = other ? `the authorizer ${other.node.path.replace(/\/Resource$/, '')}` : `authorization by ${e.authorizationType}`;
        addError(e, `it has ${name}, and API Gateway asks one authorizer only. Either remove that, and let Slidegate verify the tokens ` +
          '(authentication in the rules), or leave this API out of protect, and limit in the backend');
      } else if (other.authorizerResultTtlInSeconds !== 0 && !(isRoute(e) && e.routeKey === '$connect')) { // which caches nothing
        addError(other, "it caches the limiter's answers, so requests pass uncounted: set resultsCacheTtl to 0 seconds");
      }
    }
    return covered.map(e => e.node.path).filter(path => this.attached.get(path));
  }
}

class RestProtection extends Protection {
  protected readonly own: apigateway.CfnAuthorizer;

  constructor(functionArn: string, private readonly rest: apigateway.RestApi) {
    super(functionArn, rest);
    this.own = new apigateway.CfnAuthorizer(this.scope, 'Authorizer', {
      ...this.props, type: 'REQUEST', restApiId: rest.restApiId, authorizerResultTtlInSeconds: 0,
    });
    this.permit(rest.restApiId);
  }

  protected covers(e: Endpoint): boolean {
    return isMethod(e) && e.httpMethod !== 'OPTIONS';
  }

  finish(): void {
    const id = this.rest.restApiId;
    const methods = this.attach(find(this.rest, isMethod).filter(m => m.restApiId === id));
    if (methods.length === 0) { // the app's own authorizers call the function
      this.scope.node.tryRemoveChild('Authorizer');
      this.scope.node.tryRemoveChild('Permission');
    }
    const stated = find(this.rest, isResponse).filter(r => r.restApiId === id);
    GATEWAY_RESPONSES.forEach(response => this.addResponse(
      response,
      stated.find(r => r.responseType === response.type || (r.responseTemplates && r.responseType === response.fallback)),
      stated.find(r => r.responseType === `DEFAULT_${Math.floor((response.status ?? 0) / 100)}XX`),
    ));
    if (this.rest.latestDeployment) {
      this.rest.latestDeployment.addToLogicalId({ methods, slidegate: this.own.authorizerUri });
    } else {
      addWarning(this.rest, warnDeployment, 'the API has deploy: false, so nothing deploys what protect adds: make a new deployment, ' +
        'or its stages stay open');
    }
  }

  /**
   * addResponse keeps the app's own gateway response, and names what it lacks. It names nothing for a response with a fallback,
   * because an app turns that one off by stating its own. The limiter's response keeps the fields of a default of the app, which
   * the answer had before the limiter, in place of its own literals.
   */
  private addResponse(
    { type, status, headers, body, fallback }: typeof GATEWAY_RESPONSES[number],
    app?: apigateway.CfnGatewayResponse,
    inherited?: apigateway.CfnGatewayResponse,
  ): void {
    if (!app) {
      new apigateway.GatewayResponse(this.scope, type, {
        restApi: this.rest,
        type: apigateway.ResponseType.of(type),
        responseHeaders: keep(headers, inherited?.responseParameters),
        statusCode: status?.toString(),
        templates: body ? { 'application/json': body } : undefined, // an empty map would remove the gateway's own bodies
      });
      return;
    }
    if (fallback) {
      return;
    }
    const parameters = Object.keys(app.responseParameters ?? {});
    const lacks = Object.keys(headers).filter(name => !parameters.includes(FIELD + name));
    if (status && app.statusCode !== status.toString()) {
      lacks.unshift(`the status ${status}`);
    }
    if (lacks.length > 0) {
      addWarning(app, warnResponse, `the app's own gateway response ${type} stays in place of the limiter's, and lacks ${lacks.join(', ')}: ` +
        'remove it, or acknowledge this warning');
    }
  }
}

/** A RouteProtection is of an HTTP or WebSocket API. */
abstract class RouteProtection extends Protection {
  protected readonly own: apigatewayv2.CfnAuthorizer;

  constructor(functionArn: string, api: Construct, private readonly apiId: string, props: Partial<apigatewayv2.CfnAuthorizerProps>) {
    super(functionArn, api);
    this.own = new apigatewayv2.CfnAuthorizer(this.scope, 'Authorizer', {
      ...this.props, authorizerType: 'REQUEST', apiId, identitySource: [], ...props,
    });
    this.permit(apiId);
  }

  finish(): void {
    const routes = find(this.api, isRoute).filter(r => r.apiId === this.apiId);
    this.attach(routes);
    this.checkRoutes(routes.map(r => r.routeKey).sort());
    for (const stage of find(this.api, isStage).filter(s => s.apiId === this.apiId && s.autoDeploy !== true)) {
      addWarning(stage, warnDeployment, 'the stage has no autoDeploy, so nothing deploys what protect changes: make a new deployment, ' +
        'or the stage stays open');
    }
  }

  protected abstract checkRoutes(keys: string[]): void;
}

class HttpProtection extends RouteProtection {
  constructor(functionArn: string, private readonly http: apigatewayv2.HttpApi) { // simple responses are never cached
    super(functionArn, http, http.apiId, { authorizerPayloadFormatVersion: '2.0', authorizerResultTtlInSeconds: 0, enableSimpleResponses: true });
  }

  protected covers(e: Endpoint): boolean {
    return isRoute(e) && !e.routeKey.startsWith('OPTIONS ');
  }

  /** checkRoutes warns of routes with preflights: the gateway answers one itself only if its route has no authorizer. */
  protected checkRoutes(keys: string[]): void {
    const cors = (this.http.node.defaultChild as apigatewayv2.CfnApi).corsConfiguration;
    for (const key of cors ? keys : []) {
      const path = key === '$default' ? '/{proxy+}' : key.replace(/^ANY /, '');
      if ((key === '$default' || key.startsWith('ANY ')) && !keys.includes(`OPTIONS ${path}`)) {
        addWarning(this.http, warnPreflight, `the route ${key} receives preflights, which carry no credentials: ` +
          `add a route OPTIONS ${path}, which stays open`);
      }
    }
  }
}

class WebSocketProtection extends RouteProtection {
  constructor(functionArn: string, api: apigatewayv2.WebSocketApi) {
    super(functionArn, api, api.apiId, {});
  }

  protected covers(e: Endpoint): boolean {
    return isRoute(e) && e.routeKey === '$connect';
  }

  protected checkRoutes(keys: string[]): void {
    if (!keys.includes('$connect')) {
      addError(this.api, 'the API has no route $connect, so nothing limits its connections: pass connectRouteOptions with an integration');
    }
  }
}

/** find returns the constructs of a type in the app: an API's parts may be anywhere. */
function find<T extends IConstruct>(within: IConstruct, is: (c: IConstruct) => c is T): T[] {
  return within.node.root.node.findAll().filter(is);
}

const isMethod = (c: IConstruct): c is apigateway.CfnMethod => c instanceof apigateway.CfnMethod;
const isRoute = (c: IConstruct): c is apigatewayv2.CfnRoute => c instanceof apigatewayv2.CfnRoute;
const isStage = (c: IConstruct): c is apigatewayv2.CfnStage => c instanceof apigatewayv2.CfnStage;
const isResponse = (c: IConstruct): c is apigateway.CfnGatewayResponse => c instanceof apigateway.CfnGatewayResponse;
const isAuthorizer = (c: IConstruct): c is Authorizer => c instanceof apigateway.CfnAuthorizer || c instanceof apigatewayv2.CfnAuthorizer;

const FIELD = 'gatewayresponse.header.';

/** keep returns fields with those of the app in place of literals. */
function keep(fields: { [name: string]: string }, parameters: object = {}): { [name: string]: string } {
  const kept = { ...fields };
  for (const [parameter, expression] of Object.entries(parameters).filter(([p]) => p.startsWith(FIELD))) {
    const name = parameter.slice(FIELD.length);
    const own = Object.keys(kept).find(n => n.toLowerCase() === name.toLowerCase()) ?? name;
    if (!kept[own]?.startsWith('context.authorizer.')) {
      delete kept[own];
      kept[name] = expression;
    }
  }
  return kept;
}

const addError = (at: IConstruct, message: string): void => Annotations.of(at).addError(`Slidegate: ${message}`);
const addWarning = (at: IConstruct, id: string, message: string): void => Annotations.of(at).addWarningV2(id, `Slidegate: ${message}`);

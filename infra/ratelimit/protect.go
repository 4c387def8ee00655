package ratelimit

import (
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// Ids of warnings, by which an app acknowledges them.
const (
	warnNothing    = "slidegate:protects-nothing"
	warnDeployment = "slidegate:deployment"
	warnResponse   = "slidegate:gateway-response"
	warnPreflight  = "slidegate:preflight"
)

// Protect puts an API of the app behind the limiter. The API is a RestApi or
// SpecRestApi of awsapigateway, or an HttpApi or WebSocketApi of awsapigatewayv2.
// Methods and routes that the app adds later are covered too.
//
// The authorizer gets every method and route that has none, except OPTIONS: a
// preflight carries no credentials. Rules skip what shall stay open. Give a
// RestApi DefaultCorsPreflightOptions: otherwise an ANY method receives the
// preflights of its path. Of a WebSocketApi it gets the route $connect, so it
// limits connections and not messages. Answers are never cached, because a cached
// one would admit requests uncounted.
//
// A REST API then answers denials with 429 and the rate limit fields. Gateway
// responses of the app stay, and a warning names what they lack. An HTTP API
// answers 403, because an authorizer cannot make it answer 429; with PassDenials
// the backend answers instead. A WebSocket API answers 403.
//
// What is wrong with an API is an error at synthesis: cdk names the method or
// route, and what to do.
func (r *RateLimit) Protect(api constructs.IConstruct) {
	awscdk.Annotations_Of(r).AcknowledgeWarning(jsii.String(warnNothing), nil)
	const id = "Slidegate"
	if api.Node().TryFindChild(jsii.String(id)) != nil {
		addError(api, "a limiter protects this API already: call Protect once for each API")
		return
	}
	p := &protection{limiter: r, api: api}
	defined := api
	if api.Node().DefaultChild() == nil {
		defined = nil // imported
	}
	switch defined := defined.(type) {
	case awsapigateway.RestApi:
		p.finish = p.prepareREST(constructs.NewConstruct(defined, jsii.String(id)), defined)
	case awsapigateway.SpecRestApi: // after RestApi, which has all its methods
		p.finish = p.prepareSpec(constructs.NewConstruct(defined, jsii.String(id)), defined)
	case awsapigatewayv2.HttpApi:
		p.finish = p.prepareHTTP(constructs.NewConstruct(defined, jsii.String(id)), defined)
	case awsapigatewayv2.WebSocketApi:
		p.finish = p.prepareWebSocket(constructs.NewConstruct(defined, jsii.String(id)), defined)
	default:
		addError(api, "Protect cannot change this: pass a RestApi, SpecRestApi, HttpApi or WebSocketApi that this app defines")
		return
	}
	// Before aspects that check the API, and on the API before its methods.
	awscdk.Aspects_Of(api).Add(p, &awscdk.AspectOptions{Priority: awscdk.AspectPriority_MUTATING()})
	awscdk.Aspects_Of(api).Add(&guard{of: p}, &awscdk.AspectOptions{Priority: awscdk.AspectPriority_READONLY()})
}

// protection is one API behind the limiter. As an aspect it sees the API once
// the app has added everything.
type protection struct {
	limiter *RateLimit
	api     constructs.IConstruct
	finish  func()
	covers  func(endpoint) bool // whether an endpoint needs the authorizer
	own     *string             // the authorizer's id
	seen    map[string]bool     // the endpoints by path: whether they have the authorizer
	done    bool
}

// Visit finishes with the API itself, which comes first.
func (p *protection) Visit(constructs.IConstruct) {
	if !p.done {
		p.done = true
		p.finish()
	}
}

// guard looks at endpoints after all other aspects, of which one may have added
// an endpoint or replaced its authorizer.
type guard struct{ of *protection }

func (g *guard) Visit(node constructs.IConstruct) {
	e, ok := node.(endpoint)
	if !ok || g.of.covers == nil || !g.of.covers(e) {
		return
	}
	attached, seen := g.of.seen[*node.Node().Path()]
	if !seen || attached && text(e.AuthorizerId()) != *g.of.own {
		addError(node, "another aspect adds this, or replaces its authorizer, so nothing limits it: have that aspect run first, by a "+
			"priority below AspectPriority_MUTATING")
	}
}

// uri is what API Gateway calls as the authorizer.
func (p *protection) uri() *string {
	return awscdk.Stack_Of(p.api).FormatArn(&awscdk.ArnComponents{
		Service:      jsii.String("apigateway"),
		Account:      jsii.String("lambda"),
		Resource:     jsii.String("path"),
		ResourceName: jsii.String("2015-03-31/functions/" + *p.limiter.Function.FunctionArn() + "/invocations"),
	})
}

// permit lets the authorizer of an API call the function. The permission is in
// the stack of the API, so that the limiter's stack does not depend on it.
func (p *protection) permit(scope constructs.Construct, api, authorizer *string) {
	p.limiter.Function.AddPermission(jsii.String("Permission"), &awslambda.Permission{
		Principal: awsiam.NewServicePrincipal(jsii.String("apigateway.amazonaws.com"), nil),
		Scope:     scope,
		SourceArn: awscdk.Stack_Of(p.api).FormatArn(&awscdk.ArnComponents{
			Service:      jsii.String("execute-api"),
			Resource:     api,
			ResourceName: jsii.String("authorizers/" + *authorizer),
		}),
	})
}

// endpoint is a method of a REST API, or a route of another API.
type endpoint interface {
	constructs.IConstruct
	AuthorizationType() *string
	SetAuthorizationType(*string)
	AuthorizerId() *string
	SetAuthorizerId(*string)
}

// authorizer is one of a REST API, or of another API.
type authorizer interface {
	constructs.IConstruct
	Ref() *string
	AuthorizerUri() *string
	AuthorizerResultTtlInSeconds() *float64
}

// attach puts the endpoints that need an authorizer and have none behind the
// limiter's, and returns the paths of their constructs. It keeps those that the
// app put behind the limiter's function by an authorizer of another type, such as
// TOKEN.
func (p *protection) attach(endpoints []endpoint) (attached []string) {
	p.seen = map[string]bool{}
	others := map[string]authorizer{}
	for _, a := range find[authorizer](p.api) {
		others[*a.Ref()] = a
	}
	for _, e := range endpoints {
		if !p.covers(e) {
			continue
		}
		path := *e.Node().Path()
		p.seen[path] = false
		kind := text(e.AuthorizationType())
		other, known := others[text(e.AuthorizerId())]
		switch {
		case kind == "" || kind == "NONE":
			e.SetAuthorizationType(jsii.String("CUSTOM"))
			e.SetAuthorizerId(p.own)
			p.seen[path] = true
			attached = append(attached, path)
		case known && p.limiter.answers(other.AuthorizerUri()):
			// A WebSocket API caches no answers, and takes no TTL.
			if ttl := other.AuthorizerResultTtlInSeconds(); routeKey(e) != "$connect" && (ttl == nil || *ttl != 0) {
				addError(other, "it caches the limiter's answers, so requests pass uncounted: set ResultsCacheTtl to 0 seconds")
			}
		case known:
			addError(e, foreign("the authorizer "+strings.TrimSuffix(*other.Node().Path(), "/Resource")))
		default:
			addError(e, foreign(strings.TrimSpace("authorization by "+kind+" "+text(e.AuthorizerId()))))
		}
	}
	return attached
}

// foreign says what to do about an authorizer of the app.
func foreign(name string) string {
	return "it has " + name + ", and API Gateway asks one authorizer only. Either remove that, and let Slidegate verify the tokens " +
		"(authentication in the rules), or leave this API out of Protect, and limit in the function behind it by limitlambda.Wrap"
}

// answers reports whether an authorizer calls the limiter's function.
func (r *RateLimit) answers(uri *string) bool {
	return strings.Contains(text(uri), *r.Function.FunctionArn())
}

// find returns the constructs of a type in the app.
func find[T any](within constructs.IConstruct) (found []T) {
	for _, c := range *within.Node().Root().Node().FindAll(constructs.ConstructOrder_PREORDER) {
		if t, ok := c.(T); ok {
			found = append(found, t)
		}
	}
	return found
}

// findOf returns the constructs of a type that belong to an API, given how they
// state its id.
func findOf[T any](api constructs.IConstruct, id *string, stated func(T) *string) []T {
	return slices.DeleteFunc(find[T](api), func(t T) bool { return text(stated(t)) != *id })
}

// acknowledge tells cdk-nag why the limiter does what one of its rules finds.
func acknowledge(at constructs.IConstruct, rule, reason string) {
	awscdk.Validations_Of(at).Acknowledge(&awscdk.Acknowledgment{
		Id: jsii.String("AwsSolutions::AwsSolutions-" + rule), Reason: &reason,
	})
}

func addError(at constructs.IConstruct, message string) {
	awscdk.Annotations_Of(at).AddError(jsii.String("Slidegate: " + message))
}

func addWarning(at constructs.IConstruct, id, message string) {
	warn(at, id, "Slidegate: "+message)
}

// warn adds a warning that an app can acknowledge. AddWarningV2 has a third
// parameter from version 2.276 of the CDK on, which is optional elsewhere. So an
// app with an earlier or a later version compiles.
func warn(at constructs.IConstruct, id, message string) {
	method := reflect.ValueOf(awscdk.Annotations_Of(at)).MethodByName("AddWarningV2")
	args := []reflect.Value{reflect.ValueOf(&id), reflect.ValueOf(&message)}
	for i := len(args); i < method.Type().NumIn(); i++ {
		args = append(args, reflect.Zero(method.Type().In(i)))
	}
	method.Call(args)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

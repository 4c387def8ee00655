package ratelimit

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2authorizers"
	"github.com/aws/jsii-runtime-go"
)

// HTTPAuthorizer returns an authorizer for an HTTP API. Pass it as
// DefaultAuthorizer of the API, or as Authorizer of a route; each API needs one
// of its own. The API answers 403 to denials and to invalid credentials, because an
// authorizer cannot make it answer 429 or 401. With PassDenials the backend answers
// instead.
//
// The gateway caches no answers, because a cached one would admit requests
// without counting them. There is no identity source: with CDK's default the
// gateway itself answers 401 to a request without the field Authorization.
func (r *RateLimit) HTTPAuthorizer() awsapigatewayv2authorizers.HttpLambdaAuthorizer {
	return awsapigatewayv2authorizers.NewHttpLambdaAuthorizer(jsii.String("RateLimit"), r.Function, &awsapigatewayv2authorizers.HttpLambdaAuthorizerProps{
		IdentitySource:  &[]*string{},
		ResponseTypes:   &[]awsapigatewayv2authorizers.HttpLambdaResponseType{awsapigatewayv2authorizers.HttpLambdaResponseType_SIMPLE},
		ResultsCacheTtl: awscdk.Duration_Seconds(jsii.Number(0)),
	})
}

// WebSocketAuthorizer returns an authorizer for the route $connect of a
// WebSocket API. Pass it in the ConnectRouteOptions of the API; each API needs
// one of its own. It limits connections, not messages. As HTTPAuthorizer does, it
// has no identity source, and a denial is answered 403.
func (r *RateLimit) WebSocketAuthorizer() awsapigatewayv2authorizers.WebSocketLambdaAuthorizer {
	return awsapigatewayv2authorizers.NewWebSocketLambdaAuthorizer(jsii.String("RateLimit"), r.Function, &awsapigatewayv2authorizers.WebSocketLambdaAuthorizerProps{
		IdentitySource: &[]*string{},
	})
}

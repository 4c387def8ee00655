package apigw

import (
	"slices"

	"github.com/aws/aws-lambda-go/events"
)

// Claims that AWS has verified stand in an event's requestContext, which no client
// writes. All their values are strings: a list is one string, as the gateway
// writes it.

// cognitoClaims returns the claims of a REST API's Cognito authorizer; nil for
// none. The context of a Lambda authorizer holds no objects, so that no authorizer
// of another kind has claims.
func cognitoClaims(authorizer map[string]any) map[string]any {
	claims, _ := authorizer["claims"].(map[string]any)
	return claims
}

// httpAPIClaims returns what the JWT or the IAM authorizer of an HTTP API has
// verified; nil for none.
func httpAPIClaims(a *events.APIGatewayV2HTTPRequestContextAuthorizerDescription) map[string]any {
	switch {
	case a.JWT != nil:
		claims := make(map[string]any, len(a.JWT.Claims))
		for name, value := range a.JWT.Claims {
			claims[name] = value
		}
		return claims
	case a.IAM != nil && !slices.Contains(a.IAM.CognitoIdentity.AMR, guest):
		return iamClaims(a.IAM.AccountID, a.IAM.CallerID, a.IAM.UserARN, a.IAM.UserID, a.IAM.CognitoIdentity.IdentityID)
	}
	return nil
}

// identityClaims returns the identity of a REST or WebSocket API with IAM
// authorization; nil for none.
func identityClaims(i *events.APIGatewayRequestIdentity) map[string]any {
	if i.CognitoAuthenticationType == guest {
		return nil
	}
	return iamClaims(i.AccountID, i.Caller, i.UserArn, i.User, i.CognitoIdentityID)
}

// guest marks a caller of a Cognito identity pool without an account. It can get a
// new identity for each request, so it counts as anonymous.
const guest = "unauthenticated"

// iamClaims returns an IAM identity as claims, under the names of HTTP APIs; nil
// for none. Users of a Cognito identity pool share a role, so only their identity
// tells them apart.
func iamClaims(account, caller, userARN, user, cognitoIdentity string) map[string]any {
	if userARN == "" {
		return nil
	}
	claims := map[string]any{"accountId": account, "callerId": caller, "userArn": userARN, "userId": user}
	if cognitoIdentity != "" {
		claims["cognitoIdentityId"] = cognitoIdentity
	}
	return claims
}

// LambdaContext returns what the Lambda authorizer before a function has put into
// its context; nil for none.
func LambdaContext(event any) map[string]any {
	switch ev := event.(type) {
	case *events.APIGatewayProxyRequest:
		if cognitoClaims(ev.RequestContext.Authorizer) == nil {
			return ev.RequestContext.Authorizer
		}
	case *events.APIGatewayV2HTTPRequest:
		if a := ev.RequestContext.Authorizer; a != nil {
			return a.Lambda
		}
	case *events.APIGatewayWebsocketProxyRequest:
		context, _ := ev.RequestContext.Authorizer.(map[string]any)
		return context
	}
	return nil
}

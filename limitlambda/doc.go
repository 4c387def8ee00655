// Package limitlambda limits the events of a typed AWS Lambda handler: requests
// of REST, HTTP and WebSocket APIs, function URLs and load balancers by [Wrap],
// and messages of SQS queues by [WrapSQS].
//
//	g, err := gate.New(rulestable.Open(client, "rules"), slidegate.WithStore(dynamostore.New(client, "counters")))
//	…
//	lambda.Start(limitlambda.Wrap(g, handle))
//
// The wrapper decides before the handler, answers denied requests as
// [limithttp.Middleware] does, and corrects the charge by the handler's answer.
//
// # Authorizer or wrapper
//
//	                     Lambda authorizer          Wrap
//	denied requests      never reach the function   cost an invocation of it
//	a decision adds      an invocation, with its    a few milliseconds to the
//	                     own cold starts            function
//	a denial             429 on REST APIs, 403 on   429 with all fields and a
//	                     HTTP APIs and WebSocket    body; of a WebSocket
//	                     handshakes                 message, the body
//	WebSocket messages   never seen                 each one is decided
//	function URLs, ALB,  have no authorizers        decided
//	SQS
//	a change of rules    is published; nothing to   the same, with package
//	                     deploy                     rulestable
//	other languages      any backend                Go
//
// Take an authorizer if floods must not start your function, and Wrap for one
// function, or where no authorizer can stand. Take the authorizer and [Behind] if
// clients of an HTTP API need 429, or rules settle or refund: the authorizer
// decides, and Behind finishes. Do not put Wrap behind an authorizer with the same
// rules: it would count each request twice.
//
// # What rules see
//
// An event becomes a [gate.Request] as in the authorizer: method, path below
// the stage, route, stage, headers, query, path parameters, and the client's
// address. The gateway states the address, so that no header of a client changes
// it. These differ:
//
//   - A load balancer states the address as the last one in X-Forwarded-For. That
//     needs its default, the attribute routing.http.xff_header_processing.mode =
//     append. With "preserve" a client could write it. Its own health checks have
//     none, and are not counted.
//   - A WebSocket handshake is GET with the route $connect. A message is POST, with
//     a route such as /sendMessage for the API's sendMessage; $default is none. All
//     have the path "/" and the path parameter connectionId. Messages have no
//     headers and no query, so rules that read them are refused. $disconnect cannot
//     be denied and is not counted.
//
// # Claims
//
// Claims and API keys that AWS has verified come with the event and need no
// option:
//
//   - claims of a Cognito authorizer (REST) and of a JWT authorizer (HTTP APIs).
//     All of them are strings, and a list is one string, such as "[admin ops]";
//   - the IAM identity of a signed request, as the claims accountId, callerId,
//     userArn and userId: {jwt.userArn}. Users of a Cognito identity pool share a
//     role, and have a cognitoIdentityId of their own; the pool's guests are
//     anonymous;
//   - the id of an API key of a usage plan: {apikey}.
//
// AWS writes them into parts of requestContext that no client can set. They
// deserve the same trust as the client's address: both end where others may invoke
// the function directly. What another Lambda authorizer says is only as good as
// its code, so it needs [TrustAuthorizer].
//
// A load balancer's field x-amzn-oidc-data is a header that a client could send
// past it, so it is not read. The wrapper verifies no tokens itself:
// authentication in published rules is for the authorizer.
//
// # What the wrapper costs
//
// A request that waits for its turn in a leaky bucket is paid for as it waits. It
// is denied if the turn comes after [limithttp.MaxDelay] or the function's
// deadline. A function that runs into its timeout ends before the charge can be
// corrected: it stays as it was.
package limitlambda

# A WebSocket API behind the limiter, which counts connections and no messages. A
# connection over a limit is answered 403.

resource "aws_apigatewayv2_authorizer" "slidegate_connect" {
  name            = "Slidegate"
  api_id          = aws_apigatewayv2_api.sockets.id
  authorizer_type = "REQUEST"
  authorizer_uri  = local.slidegate_uri
}

# What follows is the app. The route $connect has the last two lines.
resource "aws_apigatewayv2_api" "sockets" {
  name                       = "sockets"
  protocol_type              = "WEBSOCKET"
  route_selection_expression = "$request.body.action"
}

resource "aws_apigatewayv2_integration" "connect" {
  api_id           = aws_apigatewayv2_api.sockets.id
  integration_type = "MOCK"
}

resource "aws_apigatewayv2_route" "connect" {
  api_id             = aws_apigatewayv2_api.sockets.id
  route_key          = "$connect"
  target             = "integrations/${aws_apigatewayv2_integration.connect.id}"
  authorization_type = "CUSTOM"
  authorizer_id      = aws_apigatewayv2_authorizer.slidegate_connect.id
}

resource "aws_apigatewayv2_stage" "sockets" {
  api_id      = aws_apigatewayv2_api.sockets.id
  name        = "prod"
  auto_deploy = true
}

# An HTTP API behind the limiter. Requests over a limit are answered 403, unless
# the backend answers denials.

resource "aws_apigatewayv2_authorizer" "slidegate" {
  name                              = "Slidegate"
  api_id                            = aws_apigatewayv2_api.app.id
  authorizer_type                   = "REQUEST"
  authorizer_uri                    = local.slidegate_uri
  authorizer_payload_format_version = "2.0"
  enable_simple_responses           = true
  authorizer_result_ttl_in_seconds  = 0 # a cached answer would let requests through uncounted
}

# What follows is the app. Each route has the two lines.
resource "aws_apigatewayv2_api" "app" {
  name          = "app"
  protocol_type = "HTTP"
}

resource "aws_apigatewayv2_integration" "items" {
  api_id             = aws_apigatewayv2_api.app.id
  integration_type   = "HTTP_PROXY"
  integration_method = "GET"
  integration_uri    = "https://example.com/items"
}

resource "aws_apigatewayv2_route" "get_items" {
  api_id             = aws_apigatewayv2_api.app.id
  route_key          = "GET /items"
  target             = "integrations/${aws_apigatewayv2_integration.items.id}"
  authorization_type = "CUSTOM"
  authorizer_id      = aws_apigatewayv2_authorizer.slidegate.id
}

resource "aws_apigatewayv2_stage" "default" {
  api_id      = aws_apigatewayv2_api.app.id
  name        = "$default"
  auto_deploy = true
}

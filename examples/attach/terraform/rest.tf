# A REST API behind the limiter. Requests over a limit are answered 429, with
# Retry-After and the fields of limits.

resource "aws_api_gateway_authorizer" "slidegate" {
  name                             = "Slidegate"
  rest_api_id                      = aws_api_gateway_rest_api.app.id
  type                             = "REQUEST"
  authorizer_uri                   = local.slidegate_uri
  authorizer_result_ttl_in_seconds = 0 # a cached answer would let requests through uncounted

  # Terraform requires a source. Every request has this one, so no request is
  # answered 401 for lack of it.
  identity_source = "context.identity.sourceIp"
}

resource "aws_api_gateway_gateway_response" "slidegate" {
  for_each            = jsondecode(file("${path.module}/gateway-responses.json"))
  rest_api_id         = aws_api_gateway_rest_api.app.id
  response_type       = each.key
  status_code         = try(each.value.statusCode, null)
  response_parameters = each.value.responseParameters

  # Without templates Terraform sends an empty map, which may remove API Gateway's own.
  response_templates = try(each.value.responseTemplates, { "application/json" = "{\"message\":$context.error.messageString}" })
}

# What follows is the app. Each method but OPTIONS has the two lines, and the
# deployment a trigger more.
resource "aws_api_gateway_rest_api" "app" {
  name = "app"
}

resource "aws_api_gateway_resource" "items" {
  rest_api_id = aws_api_gateway_rest_api.app.id
  parent_id   = aws_api_gateway_rest_api.app.root_resource_id
  path_part   = "items"
}

resource "aws_api_gateway_method" "get_items" {
  rest_api_id   = aws_api_gateway_rest_api.app.id
  resource_id   = aws_api_gateway_resource.items.id
  http_method   = "GET"
  authorization = "CUSTOM"
  authorizer_id = aws_api_gateway_authorizer.slidegate.id
}

resource "aws_api_gateway_integration" "get_items" {
  rest_api_id             = aws_api_gateway_rest_api.app.id
  resource_id             = aws_api_gateway_resource.items.id
  http_method             = aws_api_gateway_method.get_items.http_method
  type                    = "HTTP_PROXY"
  integration_http_method = "GET"
  uri                     = "https://example.com/items"
}

resource "aws_api_gateway_deployment" "app" {
  rest_api_id = aws_api_gateway_rest_api.app.id
  triggers = {
    redeployment = sha1(jsonencode([
      aws_api_gateway_method.get_items,
      aws_api_gateway_integration.get_items,
      aws_api_gateway_authorizer.slidegate,
      aws_api_gateway_gateway_response.slidegate,
    ]))
  }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_api_gateway_stage" "prod" {
  rest_api_id   = aws_api_gateway_rest_api.app.id
  deployment_id = aws_api_gateway_deployment.app.id
  stage_name    = "prod"
}

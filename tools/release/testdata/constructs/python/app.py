"""A CDK app with an API behind a limiter: `python app.py rest`, http or websocket.
It is the app of testdata/stranger in Python."""

import os
import platform
import sys

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_apigatewayv2 as apigatewayv2
from aws_cdk import aws_lambda as lambda_
from aws_cdk.aws_apigatewayv2_integrations import HttpUrlIntegration, WebSocketMockIntegration
from slidegate_cdk import RateLimit


def rest(stack):
    api = apigateway.RestApi(stack, "Api")
    api.root.add_method("GET")  # a mock answers
    return api, api.rest_api_id


def http(stack):
    server = HttpUrlIntegration("Server", os.environ["BACKEND"])
    api = apigatewayv2.HttpApi(stack, "Api", default_integration=server)
    return api, api.api_id


def websocket(stack):
    mock = apigatewayv2.WebSocketRouteOptions(integration=WebSocketMockIntegration("Mock"))
    api = apigatewayv2.WebSocketApi(stack, "Api", connect_route_options=mock)
    apigatewayv2.WebSocketStage(stack, "Stage", web_socket_api=api, stage_name="prod", auto_deploy=True)
    return api, api.api_id


kind = sys.argv[1]
app = cdk.App()
stack = cdk.Stack(app, f"Stranger-{kind}")
limiter = RateLimit(
    stack,
    "RateLimit",
    rules="rules.yaml",
    architecture=lambda_.Architecture.X86_64 if platform.machine() == "x86_64" else None,
    removal_policy=cdk.RemovalPolicy.DESTROY,
)
limiter.cfn_authorizer.add_property_override("Environment.Variables.SLIDEGATE_DEADLINE", "2s")  # for a slow local AWS
api, api_id = {"rest": rest, "http": http, "websocket": websocket}[kind](stack)
limiter.protect(api)
cdk.CfnOutput(stack, "ApiId", value=api_id)
app.synth()

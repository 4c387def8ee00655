"""The code of docs/start/cdk.md in the constructor of a stack that has an API."""

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk.aws_lambda import Architecture
from slidegate_cdk import RateLimit


class Page(cdk.Stack):
    def __init__(self, app):
        super().__init__(app, "Page")
        api = apigateway.RestApi(self, "Api")
        api.root.add_method("GET")

        limiter = RateLimit(
            self,
            "RateLimit",
            rules="rules.yaml",
            architecture=Architecture.ARM_64,  # the local AWS of an x86-64 machine needs X86_64
        )
        limiter.protect(api)  # a RestApi, HttpApi or WebSocketApi


app = cdk.App()
Page(app)
app.synth()

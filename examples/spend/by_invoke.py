"""Calls of the functions of Slidegate, by Lambda's Invoke. Their names are outputs of its stack."""
import json
import os

import boto3

client = boto3.client("lambda")
FUNCTIONS = {
    name: os.environ[f"SLIDEGATE_{role}_FUNCTION"]
    for name, role in {"decisions": "DECIDE", "usage": "DECIDE", "settlements": "SETTLE", "renewals": "SETTLE"}.items()
}


def call(name, **body):
    """Returns the answer. A denial is one; bad input, or a store that is away, is an error."""
    invoked = client.invoke(FunctionName=FUNCTIONS[name], Payload=json.dumps({name: body}))
    answer = json.load(invoked["Payload"])
    if "FunctionError" in invoked:
        raise RuntimeError(f"slidegate: {answer}")
    if answer["status"] != 200:
        raise RuntimeError(f"slidegate: {answer['body']['detail']}")
    return answer["body"]

"""Calls of `slidegate serve --decide`, at SLIDEGATE_URL."""
import json
import os
from urllib.error import HTTPError
from urllib.request import Request, urlopen

FIELDS = {"Content-Type": "application/json"}  # and Authorization, if the server has a token


def call(name, **body):
    """Returns the answer. A denial is one; bad input, or a store that is away, is an error."""
    request = Request(f"{os.environ['SLIDEGATE_URL']}/v1/{name}", json.dumps(body).encode(), FIELDS)
    try:
        with urlopen(request, timeout=5) as answer:
            return json.load(answer)
    except HTTPError as error:
        raise RuntimeError(f"slidegate: {json.load(error)['detail']}") from None

"""A call of a model: it reserves, streams, and settles what was used, however it ends."""
MOST = 4000  # the rule's max: what one answer may cost


class Denied(Exception):
    """Its retry_after_s says when to ask again."""


def ask(call, model, customer, question, id=""):
    """Yields the parts of an answer. call is that of over_http.py or by_invoke.py."""
    request = {"method": "POST", "path": "/chat", "jwt": {"sub": customer}, "headers": {"x-max-tokens": str(MOST)}}
    if id:  # of a call that may be retried: it is charged once
        request["id"] = id
    held = call("decisions", **request)
    if not held["allowed"]:
        raise Denied(held)
    outcome = {"aborted": True}  # without the usage, what was reserved stays charged
    try:
        for part in model(question):
            if "usage" in part:
                outcome = {"usage": part["usage"]}  # such as {"input_tokens": 12, "output_tokens": 160}
            else:
                yield part["text"]
    finally:  # also if the client hangs up, which closes this generator
        call("settlements", receipt=held["receipt"], **outcome)

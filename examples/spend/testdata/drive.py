"""Runs the programs of examples/spend: a command for each line of the input, a line for each answer."""
import json
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import by_invoke
import consumer
import model
import over_http


def run(c):
    call = {"http": over_http, "invoke": by_invoke}[c["over"]].call
    if "ask" in c:
        answer = model.ask(call, lambda _: iter(c["parts"]), c["ask"], "a question", c.get("id", ""))
        return [text for text, _ in zip(answer, range(c["hangs_up_after"]))]
    if "event" in c:
        worked = []
        return {"answer": consumer.handle(call, worked.append, c["event"]), "worked": worked}
    return call(c["call"], **c["body"])


for line in sys.stdin:
    try:
        answer = run(json.loads(line))
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)

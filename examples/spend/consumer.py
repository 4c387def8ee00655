"""A Lambda behind an SQS queue. A customer has two jobs at work; others go back to the queue."""


def handle(call, work, event):
    """Answers an event of SQS. Its mapping needs ReportBatchItemFailures."""
    failures = []
    for message in event["Records"]:
        try:
            done = run(call, work, message)
        except Exception as error:
            print(f"job {message['messageId']}: {error}")
            done = False
        if not done:
            failures.append({"itemIdentifier": message["messageId"]})
    return {"batchItemFailures": failures}


def run(call, work, message):
    customer = message["messageAttributes"]["customer"]["stringValue"]
    delivery = f"{message['messageId']}/{message['attributes']['ApproximateReceiveCount']}"
    held = call("decisions", method="POST", path="/jobs", jwt={"sub": customer}, id=delivery)
    if not held["allowed"]:
        return False  # SQS delivers it again after the visibility timeout
    try:
        work(message["body"])  # within 90 s, or it renews: call("renewals", receipt=held["receipt"])
    finally:
        call("settlements", receipt=held["receipt"])  # gives the place back
    return True

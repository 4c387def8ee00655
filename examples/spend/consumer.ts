/** A Lambda behind an SQS queue. A customer has two jobs at work; others go back to the queue. */
type Call = (name: string, body: object) => Promise<any>; // of over_http.ts or by_invoke.ts
type Message = { messageId: string; body: string; attributes: Record<string, string>; messageAttributes: Record<string, { stringValue?: string }> };

/** Answers an event of SQS. Its mapping needs ReportBatchItemFailures. */
export async function handle(call: Call, work: (body: string) => Promise<void>, event: { Records: Message[] }) {
  const done = await Promise.allSettled(event.Records.map(message => run(call, work, message)));
  done.forEach((result, i) => result.status === 'rejected' && console.error(`job ${event.Records[i].messageId}:`, result.reason));
  const failed = event.Records.filter((_, i) => done[i].status === 'rejected');
  return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
}

async function run(call: Call, work: (body: string) => Promise<void>, message: Message) {
  const delivery = `${message.messageId}/${message.attributes.ApproximateReceiveCount}`;
  const jwt = { sub: message.messageAttributes.customer.stringValue };
  const held = await call('decisions', { method: 'POST', path: '/jobs', jwt, id: delivery });
  if (!held.allowed) {
    throw new Error('denied: SQS delivers it again after the visibility timeout');
  }
  try {
    await work(message.body); // within 90 s, or it renews: call('renewals', { receipt: held.receipt })
  } finally {
    await call('settlements', { receipt: held.receipt }); // gives the place back
  }
}

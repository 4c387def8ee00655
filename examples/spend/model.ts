/** A call of a model: it reserves, streams, and settles what was used, however it ends. */
const MOST = 4000; // the rule's max: what one answer may cost

/** The call of over_http.ts or by_invoke.ts. */
type Call = (name: string, body: object) => Promise<any>;
type Part = { text: string; usage?: undefined } | { usage: Record<string, number> };
type Model = (question: string) => AsyncIterable<Part>;

/** Yields the parts of an answer. An id is of a call that may be retried: it is charged once. */
export async function* ask(call: Call, model: Model, customer: string, question: string, id?: string) {
  const held = await call('decisions', { method: 'POST', path: '/chat', jwt: { sub: customer }, headers: { 'x-max-tokens': `${MOST}` }, id });
  if (!held.allowed) {
    throw new Error(`denied: ask again in ${held.retry_after_s} s`);
  }
  let outcome: object = { aborted: true }; // without the usage, what was reserved stays charged
  try {
    for await (const part of model(question)) {
      if (part.usage) {
        outcome = { usage: part.usage }; // such as { input_tokens: 12, output_tokens: 160 }
      } else {
        yield part.text;
      }
    }
  } finally { // also if the client hangs up, which ends this generator
    await call('settlements', { receipt: held.receipt, ...outcome });
  }
}

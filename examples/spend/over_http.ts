/** Calls of `slidegate serve --decide`, at SLIDEGATE_URL. */
const fields = { 'Content-Type': 'application/json' }; // and Authorization, if the server has a token

/** Returns the answer. A denial is one; bad input, or a store that is away, is an error. */
export async function call(name: string, body: object): Promise<any> {
  const answer = await fetch(`${process.env.SLIDEGATE_URL}/v1/${name}`, {
    method: 'POST', headers: fields, body: JSON.stringify(body), signal: AbortSignal.timeout(5000),
  });
  const value: any = await answer.json();
  if (!answer.ok) {
    throw new Error(`slidegate: ${value.detail}`);
  }
  return value;
}

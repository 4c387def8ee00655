/** Calls of the functions of Slidegate, by Lambda's Invoke. Their names are outputs of its stack. */
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';

const { SLIDEGATE_DECIDE_FUNCTION: decide, SLIDEGATE_SETTLE_FUNCTION: settle } = process.env;
const functions: Record<string, string | undefined> = { decisions: decide, usage: decide, settlements: settle, renewals: settle };
const client = new LambdaClient();

/** Returns the answer. A denial is one; bad input, or a store that is away, is an error. */
export async function call(name: string, body: object): Promise<any> {
  const invoked = await client.send(new InvokeCommand({ FunctionName: functions[name], Payload: JSON.stringify({ [name]: body }) }));
  const answer = JSON.parse(invoked.Payload!.transformToString());
  if (invoked.FunctionError) {
    throw new Error(`slidegate: ${JSON.stringify(answer)}`);
  }
  if (answer.status !== 200) {
    throw new Error(`slidegate: ${answer.body.detail}`);
  }
  return answer.body;
}

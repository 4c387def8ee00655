/** Runs the programs of examples/spend: a command for each line of the input, a line for each answer. */
import { createInterface } from 'node:readline';
import * as byInvoke from './by_invoke.js';
import * as consumer from './consumer.js';
import * as model from './model.js';
import * as overHTTP from './over_http.js';

async function run(c: any): Promise<any> {
  const { call } = c.over === 'http' ? overHTTP : byInvoke;
  if (c.ask) {
    const texts: string[] = [];
    async function* parts() { yield* c.parts; }
    for await (const text of model.ask(call, parts, c.ask, 'a question', c.id)) {
      if (texts.push(text) >= c.hangs_up_after) {
        break;
      }
    }
    return texts;
  }
  if (c.event) {
    const worked: string[] = [];
    const answer = await consumer.handle(call, async body => { worked.push(body); }, c.event);
    return { answer, worked };
  }
  return call(c.call, c.body);
}

for await (const line of createInterface({ input: process.stdin })) {
  const answer = await run(JSON.parse(line)).catch(error => ({ error: String(error) }));
  process.stdout.write(JSON.stringify(answer) + '\n');
}

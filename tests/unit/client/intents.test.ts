import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createClientWithClock } from '../../../packages/client/src/client.ts';
import { createVirtualClock } from '../../support/client/virtual-clock.ts';

/** What becomes of one request. `lost` is executed, and the response does not arrive. */
const OUTCOMES = ['executed', 'lost', 'refused', '408', 'portal', '403', '401', '429', '503', '500'] as const;
type Outcome = (typeof OUTCOMES)[number];

const respond = (status: number, body: string, contentType = 'application/json') =>
  new Response(body, { status, headers: { 'content-type': contentType } });
const reject = (code: string, status: number) =>
  respond(status, JSON.stringify({ errors: [{ message: code, extensions: { code } }] }));

/** A service with a table of keys, on a network that fails as the outcomes say. */
function createModel(outcomes: Outcome[]) {
  const executed = new Map<string, string>();
  const send: typeof fetch = async (_input, init) => {
    const key = new Headers(init?.headers).get('idempotency-key') ?? '';
    const execute = () => {
      const response = executed.get(key) ?? JSON.stringify({ data: { created: executed.size } });
      executed.set(key, response);
      return respond(200, response);
    };
    switch (outcomes.shift() ?? 'executed') {
      case 'executed':
        return execute();
      case 'lost':
        execute();
        throw new TypeError('lost');
      case 'refused':
        throw new TypeError('refused');
      case '408':
        return respond(408, '', 'text/html');
      case 'portal':
        return respond(200, '<h1>Sign in</h1>', 'text/html');
      case '403':
        return reject('FORBIDDEN', 403);
      case '401':
        return reject('UNAUTHENTICATED', 401);
      case '429':
        return reject('RATE_LIMITED', 429);
      case '503':
        return reject('SERVICE_UNAVAILABLE', 503);
      case '500':
        return reject('INTERNAL_SERVER_ERROR', 500);
    }
  };
  return { executed, send };
}

describe('An intent, whatever becomes of requests, responses and the page', () => {
  it('executes its task once', async () => {
    const step = fc.record({ outcome: fc.constantFrom(...OUTCOMES), reloads: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const { executed, send } = createModel(steps.map(({ outcome }) => outcome));
        const items = new Map<string, string>();
        const storage = {
          getItem: (name: string) => items.get(name) ?? null,
          setItem: (name: string, value: string) => void items.set(name, value),
          removeItem: (name: string) => void items.delete(name),
        };
        const open = () =>
          createClientWithClock(
            { url: 'http://service/graphql', identity: 'ada', storage, fetch: send },
            createVirtualClock(),
          );
        let client = open();
        // A person presses until it is done. Each press uses up at least one outcome.
        for (const { reloads } of [...steps, { reloads: false }]) {
          const pressed = client.mutate(
            'mutation { created }',
            { title: 'A' },
            { intent: client.intent('write') },
          );
          const result = await pressed.catch(() => undefined);
          if (result !== undefined) break;
          if (!reloads) continue;
          client.close();
          client = open();
        }
        client.close();
        expect(executed.size).toBe(1);
        expect(items.size).toBe(0);
      }),
    );
  });
});

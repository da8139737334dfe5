import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createClientWithClock } from '../../../packages/client/src/client.ts';
import { createVirtualClock } from '../../support/client/virtual-clock.ts';

const EVENTS = 12;

/** What becomes of one connection. `cut` is the part of the stream that arrives, and `parts` where it is split. */
interface Fault {
  readonly kind: 'refused' | 'portal' | '503' | '401' | 'broken' | 'ended';
  readonly cut: number;
  readonly parts: readonly number[];
}

/** The rest of a stream after a position: the opening, an event with `id:` alone now and then, and all events. */
function formatStream(position: number): string {
  const blocks = [`retry: 1000\nid: e${position}`, ': heartbeat'];
  for (let event = position + 1; event <= EVENTS; event += 1)
    blocks.push(`id: e${event}\nevent: next\ndata: {"data":{"tick":${event}}}`);
  return blocks.map((block) => `${block}\n\n`).join('');
}

/** A service with a log of events, on a network with these faults. */
function createModel(faults: Fault[]): typeof fetch {
  return async (_input, init) => {
    const fault = faults.shift();
    if (fault?.kind === 'refused') throw new TypeError('refused');
    if (fault?.kind === 'portal') return new Response('<p>', { headers: { 'content-type': 'text/html' } });
    if (fault?.kind === '503' || fault?.kind === '401')
      return new Response('{"errors":[]}', {
        status: Number(fault.kind),
        headers: { 'content-type': 'application/json' },
      });
    const id = new Headers(init?.headers).get('last-event-id') ?? 'e0';
    const bytes = new TextEncoder().encode(formatStream(Number(id.slice(1))));
    const end = fault === undefined ? bytes.length : Math.floor(bytes.length * fault.cut);
    const places = (fault?.parts ?? []).map((part) => Math.floor(end * part)).sort((a, b) => a - b);
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        let from = 0;
        for (const to of [...places, end]) {
          if (to > from) controller.enqueue(bytes.slice(from, to));
          from = to;
        }
        if (fault?.kind === 'ended') controller.close();
        // An error would drop what was not read yet.
        else if (fault?.kind === 'broken') setImmediate(() => controller.error(new TypeError('broken')));
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  };
}

const share = fc.double({ min: 0, max: 1, noNaN: true });
const fault: fc.Arbitrary<Fault> = fc.record({
  kind: fc.constantFrom('refused', 'portal', '503', '401', 'broken', 'ended'),
  cut: share,
  parts: fc.array(share, { maxLength: 5 }),
});

const open = (faults: readonly Fault[]) =>
  createClientWithClock(
    { url: 'http://service/graphql', fetch: createModel([...faults]) },
    createVirtualClock(),
  );

const all = Array.from({ length: EVENTS }, (_, index) => index + 1);

describe('A stream, whatever becomes of its connections', () => {
  it('brings each event once and in order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fault, { maxLength: 8 }), async (faults) => {
        const client = open(faults);
        const received: number[] = [];
        const stream = client.subscribe<{ tick: number }, object>(
          'subscription { tick }',
          {},
          { after: 'e0' },
        );
        for await (const event of stream) {
          received.push(event.type === 'data' ? event.data.tick : -1);
          if (received.length === EVENTS) break;
        }
        client.close();
        expect(received).toEqual(all);
      }),
    );
  });

  it('brings the event again that was not handled when the process ended, and no other', async () => {
    const run = fc.record({
      faults: fc.array(fault, { maxLength: 3 }),
      reads: fc.integer({ min: 1, max: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(run, { maxLength: 5 }), async (runs) => {
        let position = 'e0';
        const store = {
          load: () => position,
          save(id: string) {
            position = id;
          },
        };
        let last = 0;
        for (const { faults, reads } of [...runs, { faults: [], reads: EVENTS }]) {
          const client = open(faults);
          const stream = client.subscribe<{ tick: number }, object>(
            'subscription { tick }',
            {},
            { position: store },
          );
          let isFirst = true;
          for (let read = 0; read < reads && last < EVENTS; read += 1) {
            const { value } = await stream.next();
            const tick = value?.type === 'data' ? value.data.tick : -1;
            // Only the first event of a process may be the one that the process before did not finish.
            expect([last + 1, ...(isFirst && last > 0 ? [last] : [])]).toContain(tick);
            isFirst = false;
            last = tick;
          }
          stream.close();
          client.close();
        }
        expect(last).toBe(EVENTS);
      }),
    );
  });
});

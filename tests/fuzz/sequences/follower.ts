import { setTimeout as delay } from 'node:timers/promises';
import { type Block, type EventStream, openEventStream } from '../../support/streams/event-stream.ts';
import type { World } from './world.ts';

const QUERY = 'subscription { postCreated { id } }';
const POLL_MS = 2;

/** A client of `postCreated` that comes back with its last id. */
export class Follower {
  /** The posts it was told of, in order. */
  readonly ids: string[] = [];
  /** What a stream must not say. */
  readonly complaints: string[] = [];
  /** Whose bucket and whose places the stream takes. */
  readonly clients: readonly string[];
  /** The number of the move that it first came with. */
  readonly since: number;
  state: 'open' | 'cut' | 'refused' | 'broken' = 'cut';
  instance = 0;
  lastId: string | undefined;
  #stream: EventStream | undefined;

  constructor(since: number, clients: readonly string[]) {
    this.since = since;
    this.clients = clients;
  }

  /** Asks for the stream. The response where it is rejected. */
  async open(
    world: World,
    instance: number,
    { key, cookie }: { readonly key?: string; readonly cookie?: string },
  ): Promise<{ readonly response: Response; readonly rejected: string | undefined }> {
    const response = await world.instances[instance]?.fetch('/graphql', {
      method: 'POST',
      headers: {
        accept: 'text/event-stream',
        'content-type': 'application/json',
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(cookie === undefined ? {} : { cookie }),
        ...(this.lastId === undefined ? {} : { 'last-event-id': this.lastId }),
      },
      body: JSON.stringify({ query: QUERY }),
    });
    if (response === undefined) throw new Error('no such instance');
    if (response.status !== 200) return { response, rejected: await response.text() };
    const stream = openEventStream(response);
    this.#stream = stream;
    this.instance = instance;
    this.state = 'open';
    // Its position is known once the opening block is there.
    const first = await stream.block();
    if (first !== undefined) this.#take(first);
    this.#read(stream).catch((error: unknown) => {
      if (this.#stream === stream && this.state === 'open') this.complaints.push(String(error));
    });
    return { response, rejected: undefined };
  }

  async #read(stream: EventStream): Promise<void> {
    for (;;) {
      // A connection that broke off ends the body with an error.
      const block = await stream.block().catch(() => undefined);
      if (this.#stream !== stream || this.state !== 'open') return;
      if (block === undefined) {
        this.state = 'broken';
        return;
      }
      this.#take(block);
    }
  }

  #take(block: Block): void {
    if (block.id !== undefined) this.lastId = block.id;
    if (block.event === 'complete') this.state = 'broken';
    if (block.event !== 'next') return;
    const { data, errors } = JSON.parse(block.data ?? '');
    if (errors === undefined) this.ids.push(data.postCreated.id);
    else if (errors[0]?.extensions?.code === 'UNAUTHENTICATED') this.state = 'refused';
    else this.complaints.push(block.raw);
  }

  /** Goes away, as a closed tab does. */
  async cut(): Promise<void> {
    if (this.state === 'open') this.state = 'cut';
    const stream = this.#stream;
    this.#stream = undefined;
    // A stream that broke off has nothing left to cancel, and says so.
    await stream?.close().catch(() => undefined);
  }

  /** Waits for the event of a post; false where it does not come, or the stream ends before it. */
  async reaches(id: string, ms: number): Promise<boolean> {
    const deadlineMs = performance.now() + ms;
    while (!this.ids.includes(id)) {
      if (this.state !== 'open' || performance.now() > deadlineMs) return false;
      await delay(POLL_MS);
    }
    return true;
  }
}

import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../support/random.ts';
import { EventResponse } from './event-response.ts';
import type { Target } from './target.ts';
import type { Arrival, Transport } from './transport.ts';
import type { Account } from './verify.ts';
import { tick } from './writers.ts';

export interface ListenerOptions {
  readonly name: string;
  readonly transport: Transport;
  readonly targets: readonly Target[];
  /** The path and the headers of its requests. */
  readonly path: string;
  readonly headers: readonly string[];
  readonly random: Random;
  /** What identifies the event in its data, such as a title; undefined where it is no such data. */
  readonly itemIn: (data: string) => string | undefined;
}

/** Those that lose a connection at the same moment do not all come back at the same moment. */
const BACK_OFF_MS = 250;

/**
 * One of thousands of subscribers. Wherever its connection ends, it comes back with its last id to one of the instances,
 * and waits for that one where it is down.
 */
export class Listener implements Omit<Account, 'titles'> {
  readonly #options: ListenerOptions;
  readonly name: string;
  /** What identifies each event that it has got. */
  readonly items: string[] = [];
  readonly complaints: string[] = [];
  readonly connecting = tick();
  connected = Number.POSITIVE_INFINITY;
  /** The instance that its stream is open at. */
  at: Target | undefined;
  connections = 0;
  /** How often there was nobody to connect to. */
  rejected = 0;
  #lastId: string | undefined;
  #socket: Socket | undefined;
  readonly #stopped = Promise.withResolvers<void>();
  #isStopped = false;
  readonly #running: Promise<void>;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.name = options.name;
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopped.resolve();
    this.#socket?.destroy();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { random, targets } = this.#options;
    while (!this.#isStopped) {
      const target = random.pick(targets);
      await Promise.race([target.up, this.#stopped.promise]);
      if (this.#isStopped) return;
      await this.#listenTo(target);
      if (!this.#isStopped) await delay(random.below(BACK_OFF_MS));
    }
  }

  /** One connection, to its end, however it ends. */
  async #listenTo(target: Target): Promise<void> {
    const { serving } = target;
    const { transport } = this.#options;
    const read = transport.reader();
    const response = new EventResponse((text) => {
      // The first text comes with the head or after it.
      if (this.at === undefined && transport.idHeader !== undefined)
        this.#take({ id: response.header(transport.idHeader) }, target);
      for (const arrival of read(text)) this.#take(arrival, target);
    });
    const socket = connect(target.port, '127.0.0.1');
    this.#socket = socket;
    socket.setNoDelay(true).write(this.#request());
    socket.on('data', (part: Buffer) => {
      try {
        response.take(part);
        // A response that is no stream: its connection would stay open for another request.
        if (response.ended || (response.status ?? 200) !== 200) socket.destroy();
      } catch (error) {
        this.complaints.push(String(error));
        socket.destroy();
      }
    });
    // Rejected, or broken by a kill.
    socket.on('error', () => undefined);
    await new Promise<void>((resolve) => socket.once('close', () => resolve()));
    const { status } = response;
    const opened = this.at !== undefined;
    this.at = undefined;
    if (status === undefined) this.rejected += 1;
    const owed = serving !== undefined && serving === target.serving && !this.#isStopped;
    // An instance that goes away rejects connections, and no requests.
    if (status !== undefined && status !== 200) this.complaints.push(`status ${status} from ${target.name}`);
    else if (owed)
      this.complaints.push(`${opened ? 'cut off' : 'not let in'} by ${target.name}, which ran on`);
  }

  #request(): string {
    const { path, headers, transport } = this.#options;
    const resuming = this.#lastId === undefined ? [] : [`last-event-id: ${this.#lastId}`];
    const lines = [`GET ${path} HTTP/1.1`, 'host: 127.0.0.1', `accept: ${transport.accept}`, ...headers];
    return `${[...lines, ...resuming].join('\r\n')}\r\n\r\n`;
  }

  #take({ id, response, complaint }: Arrival, target: Target): void {
    if (complaint !== undefined) this.complaints.push(complaint);
    if (response !== undefined) {
      const item = this.#options.itemIn(response);
      if (item !== undefined) this.items.push(item);
      else this.complaints.push(response);
    }
    if (id === undefined) return;
    this.#lastId = id;
    if (this.at !== undefined) return;
    this.at = target;
    this.connections += 1;
    this.connected = Math.min(this.connected, tick());
  }
}

import { type ClientRequest, get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { Random } from '../../support/random.ts';
import type { Data } from './selections.ts';
import type { Arrival, Transport } from './transport.ts';

/** A subscriber that comes back with its last id, to any instance, until it is stopped or the test ends. */
export interface ResumingClient {
  /** The titles that it has got, in order. */
  readonly titles: readonly string[];
  /** What a stream must never say: an error, `complete`, a status that EventSource gives up on for good. */
  readonly complaints: readonly string[];
  readonly connections: number;
  /** Resolves once its first stream is open. */
  readonly opened: Promise<void>;
  /** Breaks the connection that it has. */
  disconnect(): void;
  stop(): Promise<void>;
}

export interface ClientOptions {
  readonly origins: readonly string[];
  /** The path that subscribes, and the headers that authorize it. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly random: Random;
  readonly transport: Transport;
  /** The title in an event's data. */
  readonly titleIn: (data: Data) => string | undefined;
}

const BACK_OFF_MS = 100;

export function startClient({
  origins,
  path,
  headers: authorization,
  random,
  transport,
  titleIn,
}: ClientOptions): ResumingClient {
  const titles: string[] = [];
  const complaints: string[] = [];
  const opened = Promise.withResolvers<void>();
  let lastId: string | undefined;
  let stopped = false;
  let request: ClientRequest | undefined;
  let connections = 0;

  function take({ id, response, complaint }: Arrival): void {
    if (complaint !== undefined) complaints.push(complaint);
    if (response !== undefined) {
      const { data, errors } = JSON.parse(response);
      const title = errors === undefined ? titleIn(data) : undefined;
      if (title === undefined) complaints.push(response);
      else titles.push(title);
    }
    if (id === undefined) return;
    lastId = id;
    opened.resolve();
  }

  /** One connection, to its end, however it ends. */
  async function connect(): Promise<void> {
    const origin = random.pick(origins);
    const headers = {
      accept: transport.accept,
      ...authorization,
      ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
    };
    await new Promise<void>((resolve) => {
      request = get(origin + path, { headers, agent: false }, (response) => {
        // Nothing but 503 is to be expected, while the database's connections are cut.
        if (response.statusCode !== 200 && response.statusCode !== 503)
          complaints.push(`status ${response.statusCode}`);
        if (response.statusCode === 200) {
          connections += 1;
          const { idHeader } = transport;
          if (idHeader !== undefined) take({ id: String(response.headers[idHeader]) });
        }
        const read = transport.reader();
        response.setEncoding('utf8').on('data', (text: string) => {
          if (response.statusCode !== 200) return;
          try {
            for (const arrival of read(text)) take(arrival);
          } catch (error) {
            complaints.push(String(error));
            response.destroy();
          }
        });
        response.on('error', () => resolve()).on('close', () => resolve());
      });
      request.on('error', () => resolve()).on('close', () => resolve());
    });
  }

  async function run(): Promise<void> {
    while (!stopped) {
      await connect();
      if (!stopped) await delay(random.below(BACK_OFF_MS));
    }
  }

  const running = run();
  async function stop(): Promise<void> {
    stopped = true;
    request?.destroy();
    await running;
  }
  onTestFinished(stop);
  return {
    titles,
    complaints,
    get connections() {
      return connections;
    },
    opened: opened.promise,
    disconnect: () => void request?.destroy(),
    stop,
  };
}

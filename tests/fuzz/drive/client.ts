import { Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';

/** A response as it came. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Sent {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body: string | undefined;
  /** What is done once an event stream has opened. It is left then or after the next block: it would go on for ever. */
  readonly onOpen?: (() => Promise<void>) | 'leave' | undefined;
}

export interface Client {
  /** Throws where no whole response comes. */
  send(sent: Sent): Promise<Reply>;
  close(): void;
}

/** Only ends a request that hangs. */
const PATIENCE_MS = 120_000;

/** How many blocks of a stream are there as a whole; a block of comments is none. */
const blocksOf = (text: string) =>
  text
    .split('\n\n')
    .slice(0, -1)
    .filter((block) => !block.startsWith(':')).length;

/** Talks HTTP with a service that listens at an origin. */
export function createClient(origin: string): Client {
  const agent = new Agent({ keepAlive: true });
  const { hostname, port } = new URL(origin);
  return {
    send: ({ method, path, headers, body, onOpen }) =>
      new Promise((resolve, reject) => {
        const bytes = body === undefined ? undefined : Buffer.from(body);
        const length = bytes === undefined ? {} : { 'content-length': bytes.length };
        const signal = AbortSignal.timeout(PATIENCE_MS);
        const sending = request(
          { agent, hostname, port, method, path, headers: { ...headers, ...length }, signal },
          (response) => {
            let text = '';
            const { statusCode: status = 0 } = response;
            const isStream = response.headers['content-type']?.startsWith('text/event-stream') === true;
            let opened = false;
            const finish = () => resolve({ status, headers: response.headers, text });
            response.setEncoding('utf8').on('data', (part: string) => {
              text += part;
              // A stream without a position has a single result, and ends by itself.
              if (onOpen === undefined || !isStream || !/^retry: \d+\nid: /.test(text)) return;
              const blocks = blocksOf(text);
              if (!opened && blocks > 0) {
                opened = true;
                if (onOpen !== 'leave') onOpen().catch(reject);
              }
              if (blocks < (onOpen === 'leave' ? 1 : 2)) return;
              finish();
              response.destroy();
            });
            response.on('end', finish).on('error', reject);
          },
        );
        sending.on('error', reject);
        sending.end(bytes);
      }),
    close: () => agent.destroy(),
  };
}

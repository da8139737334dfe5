import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { onTestFinished } from 'vitest';
import type { Reply } from './cached-requests.ts';

const DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
  gzip: gunzipSync,
};

export interface Sent {
  readonly path: string;
  readonly method: 'GET' | 'HEAD';
  readonly headers: Readonly<Record<string, string>>;
}

/** Asks nginx over TLS, on connections that stay open until the test ends. */
export function secureClient(port: number, certificate: string, connections: number) {
  const agent = new Agent({
    keepAlive: true,
    maxSockets: connections,
    ca: certificate,
    servername: 'localhost',
  });
  onTestFinished(() => agent.destroy());
  const place = { agent, host: '127.0.0.1', port, setHost: false };

  async function replyOf(response: IncomingMessage): Promise<Reply> {
    const headers = Object.fromEntries(
      Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
    );
    const bytes = await buffer(response);
    const decode = DECODERS[headers['content-encoding'] ?? ''];
    const body = bytes.length === 0 || decode === undefined ? bytes : decode(bytes);
    return { status: response.statusCode ?? 0, headers, body: body.toString() };
  }

  async function begin(sent: Sent): Promise<IncomingMessage> {
    const asking = request({ ...sent, ...place }).end();
    const [response] = (await once(asking, 'response')) as [IncomingMessage];
    return response;
  }

  return {
    ask: async (sent: Sent): Promise<Reply> => replyOf(await begin(sent)),
    /** The first that comes of an event stream, which goes on until the test ends. */
    async open(path: string, headers: Sent['headers']): Promise<string> {
      const accepting = { host: 'localhost', accept: 'text/event-stream', ...headers };
      const response = await begin({ path, method: 'GET', headers: accepting });
      response.on('error', () => undefined);
      onTestFinished(() => void response.destroy());
      const [chunk] = (await once(response, 'data')) as [Buffer];
      return chunk.toString();
    },
  };
}

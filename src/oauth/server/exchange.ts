import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

export interface ExchangeOptions {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** The origin of URLs in the response, whatever Host the client sent. */
  readonly origin: string;
}

type Ending = (chunk?: string | Uint8Array<ArrayBuffer> | null) => ServerResponse;

const WITHOUT_BODY = new Set([204, 304]);

/**
 * A request as Node's HTTP server would deliver it, with its response once that has ended. Adapts between our plugins
 * and the library, which expects Node's HTTP objects. No socket is behind these.
 */
export function createExchange({ method, target, headers, body = '', origin }: ExchangeOptions) {
  const { host, protocol } = new URL(origin);
  const socket = Object.assign(new Socket(), { encrypted: protocol === 'https:' });
  const incoming = new IncomingMessage(socket);
  const bytes = Buffer.from(body);
  Object.assign(incoming, {
    method,
    url: target,
    httpVersion: '1.1',
    headers: { ...headers, host, ...(method === 'POST' ? { 'content-length': String(bytes.length) } : {}) },
    complete: true,
  });
  if (bytes.length > 0) incoming.push(bytes);
  incoming.push(null);
  const outgoing = new ServerResponse(incoming);
  const { promise, resolve } = Promise.withResolvers<Response>();
  const end: Ending = (chunk) => {
    const answered = new Headers();
    for (const [name, value] of Object.entries(outgoing.getHeaders()))
      for (const one of Array.isArray(value) ? value : [value])
        if (one !== undefined) answered.append(name, String(one));
    answered.delete('content-length');
    const { statusCode: status } = outgoing;
    const content = WITHOUT_BODY.has(status) || method === 'HEAD' ? null : (chunk ?? '');
    resolve(new Response(content, { status, headers: answered }));
    outgoing.emit('finish');
    return outgoing;
  };
  outgoing.end = end as ServerResponse['end'];
  return { incoming, outgoing, response: promise };
}

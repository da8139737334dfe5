import type { ServerResponse } from 'node:http';
import { type StreamSending, sendStream } from './node-stream.ts';
import { PlainResponse } from './plain-http.ts';
import { atEndOfTurn } from './turn.ts';

export interface SendOptions {
  /** The answer to HEAD has no body. */
  readonly head: boolean;
  /** The connection cannot be used again: what was not read of the request would be taken for the next one. */
  readonly close: boolean;
  readonly streams: StreamSending;
}

/** What a client does not read waits in this process: one that takes nothing for so long is not waited for. */
function cutOffWhenStalled(outgoing: ServerResponse, limitMs: number): void {
  if (outgoing.writableFinished || (outgoing.socket?.writableLength ?? 0) === 0) return;
  // Node counts every byte taken as a sign of life, and sets its own limit again once all are.
  outgoing.setTimeout(limitMs, () => outgoing.destroy());
}

function sendPlain(
  { status, headers, text }: PlainResponse,
  outgoing: ServerResponse,
  { close, streams }: SendOptions,
): void {
  const length = Buffer.byteLength(text);
  const fields = ['content-length', String(length)];
  if (close) fields.push('connection', 'close');
  for (const [name, value] of headers) fields.push(name, value);
  // Names and values in turn: Node writes them as they are, without keeping a table of them first.
  outgoing.writeHead(status, fields);
  // As many bytes as characters: all of it is ASCII, which Node writes faster under this name.
  outgoing.end(text, length === text.length ? 'latin1' : 'utf8');
  cutOffWhenStalled(outgoing, streams.drainLimitMs);
}

/** Writes a response to the socket, an event stream as it comes. */
export async function sendResponse(
  response: Response | PlainResponse,
  outgoing: ServerResponse,
  options: SendOptions,
): Promise<void> {
  if (response instanceof PlainResponse)
    return atEndOfTurn(() => {
      if (!outgoing.destroyed) sendPlain(response, outgoing, options);
    });
  if (outgoing.destroyed) return void (await response.body?.cancel());
  outgoing.statusCode = response.status;
  response.headers.forEach((value, name) => {
    if (name !== 'set-cookie') outgoing.setHeader(name, value);
  });
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) outgoing.setHeader('set-cookie', cookies);
  if (options.close) outgoing.setHeader('connection', 'close');
  if (response.headers.get('content-type')?.startsWith('text/event-stream') && response.body !== null)
    return sendStream(response.body, outgoing, options.streams);
  const body = Buffer.from(await response.arrayBuffer());
  if (response.status !== 204 && response.status !== 304) outgoing.setHeader('content-length', body.length);
  outgoing.end(options.head ? undefined : body);
  cutOffWhenStalled(outgoing, options.streams.drainLimitMs);
}

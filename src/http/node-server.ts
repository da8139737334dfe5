import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Request } from '@whatwg-node/fetch';
import { ApiError } from '../graphql/errors.ts';
import type { Logger } from '../platform/log.ts';
import { answerClientError } from './client-error.ts';
import type { Front } from './front.ts';
import { receiveBody } from './node-body.ts';
import { sendResponse } from './node-response.ts';
import { DRAIN_LIMIT_MS } from './node-stream.ts';
import type { Hold, PendingResponses } from './pending-responses.ts';
import type { HeaderFields, PlainResponse } from './plain-http.ts';
import type { Arrival } from './request-state.ts';

/** The short way, from a socket. */
export interface SocketFront {
  takes: Front['takes'];
  answer(fields: HeaderFields, body: Uint8Array, arrival: Arrival): Promise<PlainResponse | Response>;
}

export interface NodeServerOptions {
  readonly handle: (request: globalThis.Request, arrival: Arrival) => Promise<Response>;
  readonly front?: SocketFront;
  /** Counts what answers hold until they are read. */
  readonly pending: PendingResponses;
  readonly maxBodyBytes: number;
  /** Headers and body of a request must be in by then. */
  readonly timeoutMs?: number;
  /** A client that reads nothing of its answer for so long is cut off, as is an event stream's reader that lags behind. */
  readonly drainLimitMs?: number;
  readonly log: Logger;
  /** Called for each event stream whose reader was too slow. */
  readonly onCutOff?: () => void;
}

const REQUEST_TIMEOUT_MS = 10_000;
const TIMEOUT_CHECK_INTERVAL_MS = 500;
const MAX_HEADER_BYTES = 16_384;
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const NO_BODY = new Uint8Array();
const HOST = /^[\w.\-[\]:]+$/;

/** The address asked for, as a URL; undefined where the request line or the Host header make none. */
function targetOf({ url = '/', httpVersion, headers }: IncomingMessage): string | undefined {
  // HTTP/1.0 knows no Host; later versions demand it (RFC 9112 section 3.2).
  const host = headers.host ?? (httpVersion === '1.0' ? 'localhost' : '');
  const target = url.startsWith('/') ? `http://${host}${url}` : url;
  return HOST.test(host) && URL.canParse(target) ? target : undefined;
}

/**
 * Node's HTTP server in front of the service. It takes a request in whole, within its limits of size and time, before
 * anything else sees it, and writes the response.
 */
export function createNodeServer({
  handle,
  front,
  pending,
  maxBodyBytes,
  timeoutMs = REQUEST_TIMEOUT_MS,
  drainLimitMs = DRAIN_LIMIT_MS,
  log,
  onCutOff = () => undefined,
}: NodeServerOptions): Server {
  async function respond(incoming: IncomingMessage, outgoing: ServerResponse, hold: Hold): Promise<void> {
    const hasBody = incoming.method !== 'GET' && incoming.method !== 'HEAD';
    const { bytes, refusal } = hasBody
      ? await receiveBody(incoming, maxBodyBytes)
      : { bytes: undefined, refusal: undefined };
    const peerAddress = incoming.socket.remoteAddress;
    // It was too late and has been answered so: what the client was told has failed must not happen after all. And a
    // client that has left has no address that its limits could go by.
    if (!incoming.socket.writable || peerAddress === undefined) return void outgoing.destroy();
    const sending = {
      head: incoming.method === 'HEAD',
      close: refusal !== undefined,
      streams: { drainLimitMs, onCutOff },
      hold,
    };
    if (
      incoming.headers.host !== undefined &&
      front?.takes(incoming.method, incoming.url, incoming.headers)
    ) {
      const response = await front.answer(incoming.headers, bytes ?? NO_BODY, { peerAddress, refusal, hold });
      return sendResponse(response, outgoing, sending);
    }
    const target = targetOf(incoming);
    const gone = new AbortController();
    outgoing.on('close', () => gone.abort());
    const request = new Request(target ?? 'http://localhost/', {
      method: incoming.method ?? 'GET',
      headers: incoming.headers as Record<string, string>,
      signal: gone.signal,
      ...(bytes === undefined || bytes.length === 0 ? {} : { body: bytes }),
    });
    const badTarget =
      target === undefined ? new ApiError('BAD_REQUEST', 'The request names no address.') : undefined;
    const response = await handle(request, {
      peerAddress,
      refusal: refusal ?? badTarget,
      connection: incoming.socket,
      hold,
    });
    return sendResponse(response, outgoing, sending);
  }

  function take(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const hold = pending.hold();
    respond(incoming, outgoing, hold).catch((error: unknown) => {
      hold.release();
      if (!outgoing.headersSent && !outgoing.destroyed && !incoming.destroyed) {
        const requestId = randomUUID();
        log.error({ requestId, err: error }, 'a request could not be answered');
        outgoing
          .writeHead(500, {
            'content-type': 'application/json; charset=utf-8',
            'x-request-id': requestId,
          })
          .end(
            '{"errors":[{"message":"Something went wrong on our side.","extensions":{"code":"INTERNAL_SERVER_ERROR"}}]}',
          );
      } else outgoing.destroy();
    });
  }

  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
      requestTimeout: timeoutMs,
      headersTimeout: timeoutMs,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      // Refused like everything else, with an error and a request id.
      requireHostHeader: false,
    },
    take,
  );
  // An expectation that is not known may be ignored (RFC 9110 section 10.1.1).
  server.on('checkExpectation', take);
  server.on('clientError', answerClientError);
  return server;
}

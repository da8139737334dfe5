import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Request } from '@whatwg-node/fetch';
import { ERRORS } from '../../platform/errors.ts';
import { eventLoop } from '../../platform/fairness/event-loop.ts';
import type { PendingResponses, Reservation } from '../../platform/fairness/response-memory.ts';
import type { Logger } from '../../platform/log/log.ts';
import { createDisconnectSignal, type IncomingRequest, SocketDisconnect } from '../exchange.ts';
import type { FastPath } from '../handler.ts';
import type { HttpResponse } from '../message.ts';
import { negotiate } from '../negotiate.ts';
import { sendResponse } from './node-response.ts';
import { DRAIN_LIMIT_MS } from './node-stream.ts';
import { BodyBudget, type ReceivedBody, receiveBody } from './request-body.ts';
import { badAddress, namesHost, parseRequestUrl } from './request-head.ts';

type Take = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

interface ConnectionQueue {
  busy: boolean;
  paused: boolean;
  readonly waiting: { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse }[];
}

/**
 * Reading stops at this many waiting requests. Below, reading continues, because only a read detects that the client
 * disconnected.
 */
const READ_UP_TO = 16;
/** One read of 64 KiB can contain thousands of requests. More waiting requests close the connection. */
const MAX_WAITING = 1_024;

/**
 * When a connection closes, node:http destroys each of its requests and responses with a separate error. Requests that
 * have not begun hold nothing, and thousands of errors would block the event loop for tens of milliseconds.
 */
function discard(incoming: IncomingMessage, outgoing: ServerResponse): void {
  incoming.destroy = () => incoming;
  outgoing.destroy = () => outgoing;
}

/**
 * Handles one request of a connection at a time. Otherwise thousands of pipelined requests (RFC 9112 §9.3.2) would
 * run before the next request of any other client. Browsers do not pipeline.
 */
export function onePerConnection(take: Take): Take {
  const connections = new WeakMap<Socket, ConnectionQueue>();

  function begin(queue: ConnectionQueue, incoming: IncomingMessage, outgoing: ServerResponse): void {
    queue.busy = true;
    outgoing.on('close', ended);
    take(incoming, outgoing);
  }

  function ended(this: ServerResponse): void {
    const { socket } = this.req;
    const queue = connections.get(socket);
    if (queue === undefined) return;
    queue.busy = false;
    const next = queue.waiting.shift();
    if (socket.destroyed) return;
    if (queue.paused && queue.waiting.length < READ_UP_TO) {
      queue.paused = false;
      socket.resume();
    }
    if (next === undefined) return;
    queue.busy = true;
    // Requests of other connections run first.
    setImmediate(() => {
      if (!socket.destroyed) begin(queue, next.incoming, next.outgoing);
    });
  }

  /** The pause is delayed, because node:http resumes the socket right after it emits a request. */
  function pauseSoon(queue: ConnectionQueue, socket: Socket): void {
    setImmediate(() => {
      if (queue.waiting.length < READ_UP_TO) return;
      queue.paused = true;
      socket.pause();
    });
  }

  return (incoming, outgoing) => {
    const { socket } = incoming;
    // The parser continues to the end of the bytes that were read.
    if (socket.destroyed) return discard(incoming, outgoing);
    let queue = connections.get(socket);
    if (queue === undefined) {
      queue = { busy: false, paused: false, waiting: [] };
      connections.set(socket, queue);
    }
    if (!queue.busy) return begin(queue, incoming, outgoing);
    queue.waiting.push({ incoming, outgoing });
    if (queue.waiting.length === READ_UP_TO) pauseSoon(queue, socket);
    if (queue.waiting.length > MAX_WAITING) {
      for (const waiting of queue.waiting.splice(0)) discard(waiting.incoming, waiting.outgoing);
      socket.destroy();
    }
    return undefined;
  };
}

/** Node's parser rejects these requests before it emits them. */
const PARSE_ERRORS: Readonly<Record<string, readonly [string, string]>> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    'The URL and the headers are too large. Shorten them.',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request was not received in time. Send it again.'],
};
const OTHER_PARSE_ERROR: readonly [string, string] = ['400 Bad Request', 'The request is not valid HTTP.'];

/**
 * The client has this long to read the response. Then the connection is destroyed, even if the client still sends.
 */
const LINGER_MS = 1_000;

function respondToParseError(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, message] = PARSE_ERRORS[error.code ?? ''] ?? OTHER_PARSE_ERROR;
  const body = JSON.stringify({ errors: [{ message, extensions: { code: 'BAD_REQUEST' } }] });
  socket.end(
    [
      `HTTP/1.1 ${status}`,
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${randomUUID()}`,
      'cache-control: no-store',
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  );
  // end() closes only the outgoing half. A client that sends a byte at a time could hold the other half open forever.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

export interface NodeServerOptions {
  readonly handle: (request: globalThis.Request, incomingRequest: IncomingRequest) => Promise<HttpResponse>;
  readonly fastPath: FastPath;
  readonly pending: PendingResponses;
  readonly maxBodyBytes: number;
  /** The limit applies to the bodies of all unfinished requests together. */
  readonly maxBufferedBodyBytes: number;
  /** The time limit covers the headers and the body of a request. */
  readonly timeoutMs: number;
  /** An idle connection stays open for this long between two requests. */
  readonly keepAliveTimeoutMs: number;
  /** A client that reads nothing of its response or event stream for this long is disconnected. */
  readonly drainLimitMs?: number;
  readonly closing?: () => boolean;
  readonly log: Logger;
  /** The callback runs for each event stream whose reader was too slow. */
  readonly onCutOff: () => void;
}

const TIMEOUT_CHECK_INTERVAL_MS = 500;
const MAX_HEADER_BYTES = 16_384;
/** The default abort reason would be a new exception with a stack for each request. */
const CLIENT_GONE = new DOMException('The client disconnected.', 'AbortError');
const NO_BODY = new Uint8Array();
/** Smaller bodies are not counted, because the number of queued requests bounds them. */
const SMALL_BODY = 4_096;
const NOTHING_RECEIVED: ReceivedBody = { bytes: undefined, rejection: undefined, memory: undefined };

/** The signal aborts when the connection closes before the response has ended. */
function goneWith(outgoing: ServerResponse): AbortSignal {
  const gone = new AbortController();
  outgoing.on('close', () => gone.abort(CLIENT_GONE));
  return gone.signal;
}

/** Node's HTTP server buffers each request within limits of size and time before the handler runs. */
export function createNodeServer(options: NodeServerOptions): Server {
  const { handle, fastPath, pending, log, onCutOff } = options;
  const { maxBodyBytes, maxBufferedBodyBytes, timeoutMs, keepAliveTimeoutMs } = options;
  const { drainLimitMs = DRAIN_LIMIT_MS, closing = () => false } = options;
  const budget = new BodyBudget(maxBufferedBodyBytes);

  async function respond(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    reservation: Reservation,
  ): Promise<void> {
    const { method = 'GET', url, headers } = incoming;
    const named = namesHost(incoming);
    const fast = named && headers.host !== undefined && fastPath.isFastPathRequest(method, url);
    const address = named && !fast ? parseRequestUrl(incoming) : undefined;
    const malformed = fast || address !== undefined ? undefined : badAddress();
    const hasBody = malformed === undefined && method !== 'GET' && method !== 'HEAD';
    const { bytes, rejection, memory } = hasBody
      ? await receiveBody(incoming, { maxBytes: maxBodyBytes, budget })
      : NOTHING_RECEIVED;
    const body = memory !== undefined && memory.bytes > SMALL_BODY ? memory : undefined;
    try {
      const { socket, httpVersion } = incoming;
      const peerAddress = socket.remoteAddress;
      // After a timeout, the client was told that the request failed, so the request must not run. After a
      // disconnect, there is no IP address for the limits.
      if (!socket.writable || peerAddress === undefined) return void outgoing.destroy();
      const streams = { drainLimitMs, onCutOff };
      const broken = rejection !== undefined || malformed !== undefined;
      // Node reads nothing that follows an upgrade request, so the response must close the connection (RFC 9110
      // §7.8).
      const close = () => broken || headers.upgrade !== undefined || closing();
      const sending = { head: method === 'HEAD', close, streams, reservation };
      const accepts = negotiate(headers.accept ?? null);
      const arrival = {
        peerAddress,
        httpVersion,
        rejection,
        malformed,
        connection: socket,
        reservation,
        body,
        accepts,
        disconnectSignal: fast && accepts.stream !== undefined ? new SocketDisconnect(outgoing) : undefined,
      };
      if (fast) {
        const plain = { method, target: url ?? '/', fields: headers, body: bytes ?? NO_BODY };
        return sendResponse(await fastPath.handle(plain, arrival), outgoing, sending);
      }
      const signal = goneWith(outgoing);
      const request = new Request(address ?? 'http://localhost/', {
        // A malformed request is rejected regardless of its method, even a preflight.
        method: malformed === undefined ? method : 'GET',
        headers: headers as Record<string, string>,
        signal,
        ...(bytes === undefined || bytes.length === 0 ? {} : { body: bytes }),
      });
      const disconnectSignal = createDisconnectSignal(signal);
      return sendResponse(await handle(request, { ...arrival, disconnectSignal }), outgoing, sending);
    } finally {
      memory?.release();
    }
  }

  function begin(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const reservation = pending.reservation();
    respond(incoming, outgoing, reservation).catch((error: unknown) => {
      reservation.release();
      if (!outgoing.headersSent && !outgoing.destroyed && !incoming.destroyed) {
        const requestId = randomUUID();
        const code = 'INTERNAL_SERVER_ERROR';
        log.emit('http.internal_error', { requestId, err: error });
        outgoing
          .writeHead(500, {
            'content-type': 'application/json; charset=utf-8',
            'x-request-id': requestId,
          })
          .end(JSON.stringify({ errors: [{ message: ERRORS[code].message, extensions: { code } }] }));
      } else outgoing.destroy();
    });
  }

  const take = onePerConnection(begin);
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
      requestTimeout: timeoutMs,
      headersTimeout: timeoutMs,
      keepAliveTimeout: keepAliveTimeoutMs,
      // Node would use the first line of a repeated field such as Authorization, and a proxy may use the last.
      joinDuplicateHeaders: true,
      // The service rejects requests without Host itself, with an error and a request id.
      requireHostHeader: false,
    },
    take,
  );
  // Unknown expectations may be ignored (RFC 9110 §10.1.1).
  server.on('checkExpectation', take);
  server.on('connection', () => eventLoop.accepted());
  server.on('clientError', respondToParseError);
  return server;
}

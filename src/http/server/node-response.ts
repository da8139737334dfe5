import type { ServerResponse } from 'node:http';
import { type Reservation, UNCOUNTED_BYTES } from '../../platform/fairness/response-memory.ts';
import type { HttpResponse } from '../message.ts';
import { type StreamSending, sendStream } from './node-stream.ts';

const due: (() => void)[] = [];

function doAll(): void {
  for (const write of due.splice(0)) write();
}

/**
 * Writes at the end of this iteration of the event loop, together with other responses. Waking a sleeping reader
 * costs as much as a short query. A second write right after finds the reader awake.
 */
function batchWrite(write: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      try {
        write();
        resolve();
      } catch (error) {
        reject(error);
      }
    };
    if (due.push(settle) === 1) setImmediate(doAll);
  });
}

interface SendOptions {
  /** A response to HEAD has no body (RFC 9110 §9.3.2). */
  readonly head: boolean;
  /** True if the service stops, or if the unread rest of the request would be parsed as the next request. */
  readonly close: () => boolean;
  readonly streams: StreamSending;
  readonly reservation: Reservation;
}

/** A 204 must not have a Content-Length, and a 304 would need the length of the 200 (RFC 9110 §8.6). */
const hasLength = (status: number) => status !== 204 && status !== 304;

/**
 * Unread output is buffered in this process, so slow readers are disconnected. The returned function ends the wait.
 */
function waitForReader(
  outgoing: ServerResponse,
  { reservation, streams: { drainLimitMs: windowMs } }: SendOptions,
  remaining: () => number,
): () => void {
  const release = reservation.waitFor({
    remaining,
    windowMs,
    cutOff() {
      end();
      outgoing.destroy();
    },
  });
  const end = () => {
    outgoing.off('close', end);
    release();
  };
  outgoing.once('close', end);
  return end;
}

/**
 * The kernel may not take the whole body, and the remainder shows how fast the reader is.
 * @param held is the memory of the response until it is read, in bytes
 */
function endInParts(
  outgoing: ServerResponse,
  body: Buffer,
  options: SendOptions,
  held: number = body.length,
): void {
  let sent = 0;
  const write = () => {
    while (sent < body.length && !outgoing.destroyed) {
      const part = body.subarray(sent, sent + UNCOUNTED_BYTES);
      sent += part.length;
      if (sent === body.length) outgoing.end(part);
      else if (!outgoing.write(part)) return void outgoing.once('drain', write);
    }
  };
  write();
  if (outgoing.destroyed || outgoing.writableFinished) {
    options.reservation.release();
    return;
  }
  options.reservation.resize(held);
  waitForReader(outgoing, options, () => body.length - sent + outgoing.writableLength);
}

function end(
  outgoing: ServerResponse,
  body: string | Buffer,
  length: number,
  encoding: BufferEncoding,
  options: SendOptions,
): void {
  if (length > UNCOUNTED_BYTES) {
    endInParts(outgoing, typeof body === 'string' ? Buffer.from(body, encoding) : body, options);
    return;
  }
  outgoing.end(body, encoding);
  const waiting = outgoing.writableFinished ? 0 : outgoing.writableLength;
  options.reservation.resize(waiting);
  if (waiting > 0) waitForReader(outgoing, options, () => outgoing.writableLength);
}

/** Node writes a flat list of names and values without building a table first. */
function fieldsOf({ headers, cookies }: HttpResponse, { close }: SendOptions): string[] {
  const fields = close() ? ['connection', 'close'] : [];
  for (const [name, value] of headers) fields.push(name, value);
  for (const cookie of cookies) fields.push('set-cookie', cookie);
  return fields;
}

function sendWhole(
  response: HttpResponse,
  body: string | Buffer,
  outgoing: ServerResponse,
  options: SendOptions,
): void {
  const { status, isFile } = response;
  const length = Buffer.byteLength(body);
  const fields = fieldsOf(response, options);
  if (hasLength(status)) fields.push('content-length', String(length));
  outgoing.writeHead(status, fields);
  if (options.head) end(outgoing, '', 0, 'latin1', options);
  else if (isFile && Buffer.isBuffer(body)) {
    options.reservation.release();
    endInParts(outgoing, body, options, 0);
  }
  // Equal byte and character counts mean ASCII, which Node writes faster as latin1.
  else end(outgoing, body, length, length === body.length ? 'latin1' : 'utf8', options);
}

/** Resolves once the kernel has taken the pending bytes, and to false if the reader stopped reading. */
function drained(outgoing: ServerResponse, options: SendOptions): Promise<boolean> {
  return new Promise((resolve) => {
    const done = () => {
      outgoing.off('drain', done);
      outgoing.off('close', done);
      stopWaiting();
      resolve(!outgoing.destroyed);
    };
    const stopWaiting = waitForReader(outgoing, options, () => outgoing.writableLength);
    outgoing.once('drain', done);
    outgoing.once('close', done);
  });
}

export async function sendResponse(
  response: HttpResponse,
  outgoing: ServerResponse,
  options: SendOptions,
): Promise<void> {
  const { body } = response;
  const { reservation, streams } = options;
  if (typeof body === 'string' || Buffer.isBuffer(body))
    return batchWrite(() => {
      if (outgoing.destroyed) reservation.release();
      else sendWhole(response, body, outgoing, options);
    });
  // The reservation for computing the response is no part of sending it.
  reservation.release();
  const isStream = 'attach' in body;
  if (outgoing.destroyed) return isStream ? body.close() : void (await body.return(undefined));
  outgoing.writeHead(response.status, fieldsOf(response, options));
  if (isStream) return sendStream(body, outgoing, streams, reservation);
  outgoing.flushHeaders();
  for await (const piece of body)
    if (outgoing.destroyed || !(outgoing.write(piece) || (await drained(outgoing, options))))
      return undefined;
  outgoing.end();
  return undefined;
}

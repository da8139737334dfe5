/**
 * What it costs to send one text to many subscribers with nothing around it: Node's HTTP server, a loop and a write
 * each. `--pre-framed` writes the bytes of an HTTP chunk, made once, past the response to its socket. An event comes as
 * a POST to /emit and is sent after its response, like the service's after the response to a mutation.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Emission } from '../fanout/messages.ts';
import { serve } from './child.ts';

const OPENING = `retry: 1000\nid: ${'A'.repeat(36)}\n\n`;

const subscribers = new Set<ServerResponse>();

function writeToAll(text: string): void {
  for (const subscriber of subscribers) subscriber.write(text);
}

function writePreFramed(text: string): void {
  const chunk = Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
  for (const { socket } of subscribers) socket?.write(chunk);
}

const send = process.argv.includes('--pre-framed') ? writePreFramed : writeToAll;

function emit({ frame, events, together }: Emission): void {
  if (together) {
    for (let left = events; left > 0; left -= 1) send(frame);
    return;
  }
  send(frame);
  if (events > 1) setImmediate(emit, { frame, events: events - 1, together });
}

function receive(incoming: IncomingMessage, onBody: (body: Emission) => void): void {
  const parts: Buffer[] = [];
  incoming.on('data', (part: Buffer) => parts.push(part));
  incoming.on('end', () => onBody(JSON.parse(Buffer.concat(parts).toString()) as Emission));
}

const server = createServer((incoming, outgoing) => {
  if (incoming.url === '/emit') {
    receive(incoming, (emission) => {
      outgoing.writeHead(200, { 'content-length': 0 }).end(() => setImmediate(emit, emission));
    });
    return;
  }
  incoming.resume();
  outgoing.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  outgoing.write(OPENING);
  subscribers.add(outgoing);
  outgoing.on('close', () => subscribers.delete(outgoing));
});
await serve({ server, close: async () => undefined });

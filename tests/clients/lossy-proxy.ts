import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { onTestFinished } from 'vitest';

/** A way to the service on which things go wrong. */
export interface LossyProxy {
  readonly url: string;
  /** Whether each response of the service was a replayed one. */
  readonly replayed: boolean[];
}

/**
 * Passes requests on to `target`. Of the first `losses` that have a key, the responses are lost. The next `refusals` get 403
 * from the proxy itself.
 */
export async function startLossyProxy(target: string, losses: number, rejections = 0): Promise<LossyProxy> {
  const replayed: boolean[] = [];
  let rejected = 0;
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const headers = new Headers(request.headers as Record<string, string>);
    for (const name of ['connection', 'host', 'content-length', 'expect']) headers.delete(name);
    if (headers.has('idempotency-key') && replayed.length === losses && rejected < rejections) {
      rejected += 1;
      response.writeHead(403, { 'content-type': 'application/json' });
      return void response.end('{"errors":[{"message":"Refused by a proxy"}]}');
    }
    const answer = await fetch(target, { method: 'POST', headers, body: Buffer.concat(parts) });
    if (headers.has('idempotency-key')) replayed.push(answer.headers.get('idempotency-replayed') === 'true');
    if (headers.has('idempotency-key') && replayed.length <= losses) {
      await answer.body?.cancel();
      return void request.socket.destroy();
    }
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    // A stream lasts until either side goes.
    await pipeline(answer.body ?? [], response).catch(() => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`, replayed };
}

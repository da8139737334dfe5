import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import compression from 'compression';
import { onTestFinished } from 'vitest';

/** Starts a proxy that compresses as those of Next.js, webpack-dev-server and Express do. @returns its origin */
export async function startCompressingProxy(origin: string): Promise<string> {
  const compress = compression();
  const proxy = createServer((incoming, outgoing) => {
    compress(incoming, outgoing, () => {
      const { method, headers, url = '/' } = incoming;
      const passed = request(new URL(url, origin), { method, headers }, (response) => {
        outgoing.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(outgoing);
      });
      outgoing.once('close', () => passed.destroy());
      passed.on('error', () => outgoing.destroy());
      incoming.pipe(passed);
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

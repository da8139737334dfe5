/** A server that does nothing: what traffic costs that is sent elsewhere. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { attend } from './child.ts';

const server = createServer((incoming, outgoing) => {
  incoming.resume().on('end', () => outgoing.end('{}'));
}).listen(0, '127.0.0.1', () =>
  attend({
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  }),
);

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A way to a server that can be held up, as a network between them could. */
export interface StallingProxy {
  readonly url: string;
  /** Nothing passes any more, on these connections or new ones; they stay open. */
  stall(): void;
  /** The connections that are open stay silent for good; new ones work. */
  silence(): void;
  /** Breaks the connections and takes no new ones. */
  cut(): void;
  /** Everything passes again, but for what was silenced. */
  restore(): void;
}

/** Starts one in front of the server at `url` for as long as the test runs. */
export async function stallingProxy(url: string): Promise<StallingProxy> {
  const proxy = await openStallingProxy(url);
  onTestFinished(proxy.close);
  return proxy;
}

/** The same for as long as the caller keeps it. */
export async function openStallingProxy(url: string): Promise<StallingProxy & { close(): void }> {
  const target = new URL(url);
  const pairs = new Set<readonly [Socket, Socket]>();
  let state: 'open' | 'stalled' | 'cut' = 'open';
  const server = createServer((client) => {
    const upstream = connect(
      Number(target.port || (target.protocol === 'redis:' ? 6379 : 5432)),
      target.hostname,
    );
    const pair = [client, upstream] as const;
    pairs.add(pair);
    for (const [from, to] of [pair, [upstream, client] as const]) {
      from.on('data', (data: Buffer) => to.write(data));
      from.on('error', () => undefined);
      from.on('close', () => {
        pairs.delete(pair);
        to.destroy();
      });
    }
    if (state === 'cut') client.destroy();
    if (state === 'stalled') for (const socket of pair) socket.pause();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const destroy = () => {
    for (const [client] of pairs) client.destroy();
  };
  const own = new URL(url);
  own.hostname = '127.0.0.1';
  own.port = String((server.address() as AddressInfo).port);
  const pause = () => {
    for (const pair of pairs) for (const socket of pair) socket.pause();
  };
  return {
    url: own.href,
    stall() {
      state = 'stalled';
      pause();
    },
    silence: pause,
    cut() {
      state = 'cut';
      destroy();
    },
    restore() {
      if (state === 'stalled') for (const pair of pairs) for (const socket of pair) socket.resume();
      state = 'open';
    },
    close() {
      destroy();
      server.close();
    },
  };
}

import { readFile } from 'node:fs/promises';
import { SocketAddress } from 'node:net';
import { endianness } from 'node:os';

/** Linux's tables of TCP connections in this process's network namespace (proc_pid_net(5)). */
const TABLES = [
  { path: '/proc/net/tcp', family: 'ipv4' },
  { path: '/proc/net/tcp6', family: 'ipv6' },
] as const;

/** Identifies a connection by the local port and the peer's address and port. */
export function connectionKey(localPort: number, remoteAddress: string, remotePort: number): string {
  return `${localPort} ${remoteAddress.replace(/%.*$/, '')} ${remotePort}`;
}

/**
 * `sl: local:port remote:port state tx_queue:rx_queue timer:when retransmits uid probes`. Rows with an empty
 * tx_queue do not match.
 */
const ROW = /: \w+:(\w{4}) (\w+):(\w{4}) \w\w (?!00000000)\w{8}:\w{8} \w\w:\w{8} (\w{8}) +\d+ +(\d+) /g;

/** The address of a row as Node prints it. The kernel prints each 32-bit word in host byte order. */
function addressOf(hex: string, family: 'ipv4' | 'ipv6', order: 'BE' | 'LE'): string {
  const bytes = Buffer.from(hex, 'hex');
  if (order === 'LE') bytes.swap32();
  const address =
    family === 'ipv4' ? bytes.join('.') : (bytes.toString('hex').match(/.{4}/g) ?? []).join(':');
  return new SocketAddress({ address, family }).address;
}

/** Retransmissions since the last acknowledgement, for connections with unacknowledged bytes. */
export function unansweredIn(
  table: string,
  family: 'ipv4' | 'ipv6',
  order: 'BE' | 'LE' = endianness(),
): Map<string, number> {
  const found = new Map<string, number>();
  for (const [, local = '', remote = '', port = '', retransmits = '', probes = ''] of table.matchAll(ROW)) {
    const times = Number.parseInt(retransmits, 16) + Number(probes);
    if (times === 0) continue;
    const address = addressOf(remote, family, order);
    found.set(connectionKey(Number.parseInt(local, 16), address, Number.parseInt(port, 16)), times);
  }
  return found;
}

/**
 * The connections of this machine whose unacknowledged bytes were retransmitted, by `connectionKey`, with the
 * number of retransmissions. Undefined on systems other than Linux, which lack these tables.
 */
export async function unansweredConnections(): Promise<ReadonlyMap<string, number> | undefined> {
  const found = new Map<string, number>();
  let tables = 0;
  for (const { path, family } of TABLES) {
    const table = await readFile(path, 'latin1').catch(() => undefined);
    if (table === undefined) continue;
    tables += 1;
    for (const [key, times] of unansweredIn(table, family)) found.set(key, times);
  }
  return tables === 0 ? undefined : found;
}

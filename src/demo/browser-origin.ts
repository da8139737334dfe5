import { lookup } from 'node:dns/promises';

/** Addresses that stand for all of a machine's own, loopback included. */
const ANY_ADDRESS = new Set(['0.0.0.0', '[::]']);

/**
 * The origin to open in a browser on this machine: under the name localhost, where the service listens there. Browsers
 * keep sessions only between pages and services under one name, and development servers use this one.
 */
export async function browserOrigin(listening: string): Promise<string> {
  const { hostname, port } = new URL(listening);
  const address = hostname.replace(/^\[|\]$/g, '');
  // A machine may have no such name.
  const named = await lookup('localhost', { all: true }).catch(() => []);
  const isLocalhost = ANY_ADDRESS.has(hostname) || named.some((found) => found.address === address);
  return isLocalhost ? `http://localhost:${port}` : listening;
}

import { BlockList, isIP } from 'node:net';
import { memoize } from './cache.ts';

const LOOPBACK_HOSTS = new Set(['127.0.0.1', '::1', 'localhost']);

export function isLoopbackHost(host: string): boolean {
  return LOOPBACK_HOSTS.has(host.replace(/^\[|\]$/g, '')) || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Node's BlockList needs IPv4 instead of IPv4-mapped IPv6. Some proxies add brackets and a port. */
export const normaliseAddress = memoize((address) =>
  address
    .replace(/^\[(.*)\](?::\d+)?$/, '$1')
    .replace(/^(\d+(?:\.\d+){3}):\d+$/, '$1')
    .replace(/^::ffff:(?=\d+\.)/i, ''),
);

/**
 * Finds the client's IP address: the peer or, behind trusted proxies, the rightmost address of
 * X-Forwarded-For that is no trusted proxy. A client can forge all entries left of that address.
 */
export function clientAddress(
  peer: string,
  forwardedFor: string | null,
  isTrusted: (address: string) => boolean,
): string {
  let address = normaliseAddress(peer);
  const hops = (forwardedFor ?? '').split(',').map((hop) => normaliseAddress(hop.trim()));
  while (isTrusted(address)) {
    const hop = hops.pop();
    if (hop === undefined || isIP(hop) === 0) break;
    address = hop;
  }
  return address;
}

/** Formats an `addressKey` so that it can be blocked. */
export const addressNetwork = memoize((address) => {
  const key = addressKey(address);
  return key === address ? address : `${key}::/64`;
});

/** The part of an IP address that a client cannot change at will: all of IPv4, or the /64 network of IPv6. */
export function addressKey(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail] = address.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups =
    tail === undefined
      ? left
      : [...left, ...Array.from({ length: 8 - left.length - right.length }, () => '0'), ...right];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}

/**
 * Names the owner of work and of rate limits for requests without credentials. The prefix stays: the name is part of
 * Redis keys, which two versions share during an upgrade.
 */
export function formatIpOwner(address: string): string {
  return `address:${addressKey(address)}`;
}

export interface Network {
  readonly address: string;
  readonly bits: number;
  readonly family: 'ipv4' | 'ipv6';
}

const MAPPED = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;
const MAPPED_BITS = 96;

/** Finds the IPv4 address in any notation of an IPv4-mapped address (RFC 4291 §2.5.5.2). */
function mappedIn(address: string): string | undefined {
  const canonical = URL.parse(`http://[${address}]/`)?.hostname.slice(1, -1) ?? '';
  const [, ...halves] = MAPPED.exec(canonical) ?? [];
  if (halves.length === 0) return undefined;
  return halves
    .map((half) => Number.parseInt(half, 16))
    .flatMap((half) => [half >> 8, half & 255])
    .join('.');
}

/** @returns undefined for an address with a zone, too */
export function networkOf(text: string): Network | undefined {
  const [address = '', length, ...rest] = text.split('/');
  const family = isIP(address);
  const most = family === 4 ? 32 : 128;
  const bits = Number(length ?? most);
  if (family === 0 || text.includes('%') || rest.length > 0) return undefined;
  if (bits > most || !/^\d{1,3}$/.test(length ?? '0')) return undefined;
  if (family === 4) return { address, bits, family: 'ipv4' };
  const mapped = bits < MAPPED_BITS ? undefined : mappedIn(address);
  return mapped === undefined
    ? { address, bits, family: 'ipv6' }
    : { address: mapped, bits: bits - MAPPED_BITS, family: 'ipv4' };
}

/** PostgreSQL's `inet` accepts this format, also with host bits. */
export const formatNetwork = ({ address, bits }: Network): string => `${address}/${bits}`;

const toNetworks = (texts: readonly string[]): readonly Network[] =>
  texts.flatMap((text) => networkOf(text) ?? []);

/** @returns a function that is true for the IP addresses in one of the networks, and false for any other string */
export function createNetworkMatcher(texts: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const { address, bits, family } of toNetworks(texts)) list.addSubnet(address, bits, family);
  return (address) => {
    const family = isIP(address);
    return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
  };
}

export const isWithin = (network: Network, other: Network): boolean =>
  network.bits >= other.bits && createNetworkMatcher([formatNetwork(other)])(network.address);

/** No block applies to the addresses of this machine. */
export const LOOPBACK = ['127.0.0.0/8', '::1'];

/** RFC 6890 defines these networks. */
const PRIVATE_NETWORKS = toNetworks([
  ...['10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16'],
  ...['fc00::/7', 'fe80::/10'],
]);
/** Content delivery networks publish no wider networks for their proxies. */
const WIDEST_PUBLIC_BITS = { ipv4: 12, ipv6: 29 } as const;
const ALL_MAPPED: Network = { address: '::ffff:0:0', bits: MAPPED_BITS, family: 'ipv6' };

/** True if the network has so many public addresses that it contains clients. */
export function isNetworkTooWide(text: string): boolean {
  const network = networkOf(text);
  if (network === undefined || PRIVATE_NETWORKS.some((known) => isWithin(network, known))) return false;
  if (network.bits < WIDEST_PUBLIC_BITS[network.family]) return true;
  return network.family === 'ipv6' && isWithin(ALL_MAPPED, network);
}

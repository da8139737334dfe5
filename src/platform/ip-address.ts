import { BlockList, isIP } from 'node:net';
import { memoize } from './cache.ts';

const LOOPBACK_HOSTS = new Set(['127.0.0.1', '::1', 'localhost']);

/** Whether a host name or address is reachable only from this machine. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK_HOSTS.has(host.replace(/^\[|\]$/g, '')) || /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * The address in the form that Node's BlockList takes: IPv4-mapped IPv6 becomes IPv4, and the brackets and
 * port that some proxies add are removed.
 */
export const normaliseAddress = memoize((address) =>
  address
    .replace(/^\[(.*)\](?::\d+)?$/, '$1')
    .replace(/^(\d+(?:\.\d+){3}):\d+$/, '$1')
    .replace(/^::ffff:(?=\d+\.)/i, ''),
);

/** Tells whether an address is one of the proxies in TRUST_PROXY. */
export function trustedProxies(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return (address) => {
    const family = isIP(address);
    return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
  };
}

/**
 * The address of the client: the peer or, if that is a trusted proxy, the rightmost address of
 * X-Forwarded-For that is not one. The client could have forged anything left of it.
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

/** Where a request comes from, for the log. */
export const attemptOrigin = ({
  requestId,
  clientAddress: address,
}: {
  readonly requestId: string;
  readonly clientAddress: string;
}) => ({ requestId, address });

/** The address or network of an `addressKey`, in a form that can be blocked. */
export const addressNetwork = memoize((address) => {
  const key = addressKey(address);
  return key === address ? address : `${key}::/64`;
});

/** The part of an address that a client cannot change at will: all of IPv4, the /64 of IPv6. */
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

/** An address, or a network of them. */
export interface Network {
  readonly address: string;
  readonly bits: number;
  readonly family: 'ipv4' | 'ipv6';
}

const MAPPED = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;
const MAPPED_BITS = 96;

/** The IPv4 address within an IPv4-mapped one (RFC 4291 section 2.5.5.2), however that is written. */
function mappedIn(address: string): string | undefined {
  const canonical = URL.parse(`http://[${address}]/`)?.hostname.slice(1, -1) ?? '';
  const [, ...halves] = MAPPED.exec(canonical) ?? [];
  if (halves.length === 0) return undefined;
  return halves
    .map((half) => Number.parseInt(half, 16))
    .flatMap((half) => [half >> 8, half & 255])
    .join('.');
}

/** True for an address, and for a network such as 192.0.2.0/24. */
export function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

/** Undefined if the text is no address without a zone, and no network. */
export function networkOf(text: string): Network | undefined {
  if (!isNetwork(text) || text.includes('%')) return undefined;
  const [address = '', length] = text.split('/');
  if (isIP(address) === 4) return { address, bits: Number(length ?? 32), family: 'ipv4' };
  const bits = Number(length ?? 128);
  const mapped = bits < MAPPED_BITS ? undefined : mappedIn(address);
  return mapped === undefined
    ? { address, bits, family: 'ipv6' }
    : { address: mapped, bits: bits - MAPPED_BITS, family: 'ipv4' };
}

/** In PostgreSQL's form of `inet`. It may have host bits. */
export const formatNetwork = ({ address, bits }: Network): string => `${address}/${bits}`;

/** A list of the networks, to look addresses up in. */
export function listOf(networks: readonly Network[]): BlockList {
  const list = new BlockList();
  for (const { address, bits, family } of networks) list.addSubnet(address, bits, family);
  return list;
}

/** Whether all of a network is in another. */
export const isWithin = (network: Network, other: Network): boolean =>
  network.bits >= other.bits && listOf([other]).check(network.address, network.family);

const networks = (...texts: readonly string[]): readonly Network[] =>
  texts.flatMap((text) => networkOf(text) ?? []);

/** The addresses of this machine, to which no block applies. */
export const LOOPBACK = networks('127.0.0.0/8', '::1');

/** Networks without public addresses (RFC 6890). */
const PRIVATE_NETWORKS = networks(
  ...['10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16'],
  ...['fc00::/7', 'fe80::/10'],
);
/** The widest networks that content delivery networks publish for their proxies. */
const WIDEST_PUBLIC_BITS = { ipv4: 12, ipv6: 29 } as const;
/** All IPv4 addresses, written as IPv6. */
const ALL_MAPPED: Network = { address: '::ffff:0:0', bits: MAPPED_BITS, family: 'ipv6' };

/** True if the network has so many public addresses that it contains addresses of clients. */
export function isNetworkTooWide(text: string): boolean {
  const network = networkOf(text);
  if (network === undefined || PRIVATE_NETWORKS.some((known) => isWithin(network, known))) return false;
  if (network.bits < WIDEST_PUBLIC_BITS[network.family]) return true;
  return network.family === 'ipv6' && isWithin(ALL_MAPPED, network);
}

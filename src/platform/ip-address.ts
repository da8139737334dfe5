import { BlockList, isIP } from 'node:net';
import { remember } from './cache.ts';
import { isNetwork } from './config/setting-parsers.ts';

const LOOPBACK_HOSTS = new Set(['127.0.0.1', '::1', 'localhost']);

/** Whether a host name or address is reachable only from this machine. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK_HOSTS.has(host.replace(/^\[|\]$/g, '')) || /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * The address in the form that Node's BlockList takes: IPv4-mapped IPv6 becomes IPv4, and the brackets and
 * port that some proxies add are removed.
 */
export const normaliseAddress = remember((address) =>
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
export const addressNetwork = remember((address) => {
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

/** Undefined if the text is no address, and no network such as 192.0.2.0/24. */
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
export const textOf = ({ address, bits }: Network): string => `${address}/${bits}`;

/** A list of the networks, to look addresses up in. */
export function listOf(networks: readonly Network[]): BlockList {
  const list = new BlockList();
  for (const { address, bits, family } of networks) list.addSubnet(address, bits, family);
  return list;
}

/** Whether all of a network is in another. */
export const isWithin = (network: Network, other: Network): boolean =>
  network.bits >= other.bits && listOf([other]).check(network.address, network.family);

/** The addresses of this machine, to which no block applies. */
export const LOOPBACK: readonly Network[] = [
  { address: '127.0.0.0', bits: 8, family: 'ipv4' },
  { address: '::1', bits: 128, family: 'ipv6' },
];

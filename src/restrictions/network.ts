import { BlockList, isIP } from 'node:net';
import { isNetwork } from '../platform/settings.ts';

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

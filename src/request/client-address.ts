import { BlockList, isIP } from 'node:net';
import { remember } from '../platform/small-map.ts';

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

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addressKey,
  clientAddress,
  createNetworkMatcher,
  normaliseAddress,
} from '../../../src/platform/ip-address.ts';

const trust = createNetworkMatcher(['10.0.0.0/8', '192.168.1.1', 'fd00::/8', '::1']);

describe('clientAddress', () => {
  it.each([
    ['the peer, where no proxy is trusted', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['the peer, where nothing was forwarded', '10.0.0.1', null, '10.0.0.1'],
    ['what the proxy has forwarded', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['the rightmost that is no proxy', '10.0.0.1', '1.1.1.1, 198.51.100.1, 10.2.3.4', '198.51.100.1'],
    ['not what the client wrote itself', '10.0.0.1', '10.9.9.9, 8.8.8.8, 198.51.100.1', '198.51.100.1'],
    ['the leftmost, where all are proxies', '10.0.0.1', '10.1.1.1, 192.168.1.1', '10.1.1.1'],
    ['the last that can be read', '10.0.0.1', '198.51.100.1, unknown', '10.0.0.1'],
    ['an IPv6 one', 'fd00::1', '2001:db8::7', '2001:db8::7'],
    ['without the brackets and the port of some proxies', '::1', '[2001:db8::7]:4711', '2001:db8::7'],
    ['without the port of an IPv4 one', '10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
    ['an IPv4 peer of a dual-stack socket', '::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1'],
  ])('is %s', (_what, peer, forwarded, expected) => {
    expect(clientAddress(peer, forwarded, trust)).toBe(expected);
  });

  it('is never an address that the client put in, whatever it puts in', () => {
    const hop = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constant('unknown'), fc.string({ maxLength: 20 }));
    fc.assert(
      fc.property(fc.array(hop, { maxLength: 6 }), (invented) => {
        const forwarded = [...invented, '198.51.100.1'].join(', ');
        expect(clientAddress('10.0.0.1', forwarded, trust)).toBe('198.51.100.1');
      }),
    );
  });
});

describe('addressKey', () => {
  it.each([
    ['198.51.100.1', '198.51.100.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:0DB8:0001:0002::', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['::1', '0:0:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
  ])('of %s is %s', (address, key) => {
    expect(addressKey(address)).toBe(key);
  });

  it('is one for a /64 and another for any other', () => {
    const word = fc.integer({ min: 0, max: 0xffff }).map((value) => value.toString(16));
    const half = fc.array(word, { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(half, half, half, (network, a, b) => {
        const key = (host: readonly string[]) => addressKey([...network, ...host].join(':'));
        expect(key(a)).toBe(key(b));
      }),
    );
    expect(addressKey('2001:db8:1:2::1')).not.toBe(addressKey('2001:db8:1:3::1'));
  });

  it('keeps IPv4 clients of a dual-stack socket apart', () => {
    const key = (address: string) => addressKey(normaliseAddress(address));
    expect(key('::ffff:198.51.100.1')).not.toBe(key('::ffff:198.51.100.2'));
    expect(key('::ffff:198.51.100.1')).toBe(key('198.51.100.1'));
  });
});

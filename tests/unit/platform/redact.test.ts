import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withoutUserInformation } from '../../../src/platform/errors.ts';
import { createLogger } from '../../../src/platform/log/log.ts';

/** The lines that logging the fields makes. */
function logged(fields: Record<string, unknown>): string {
  const lines: string[] = [];
  createLogger({
    level: 'debug',
    pretty: false,
    destination: { write: (line) => void lines.push(line) },
  }).warn(fields, 'a message');
  return lines.join('');
}

describe('an address that is logged', () => {
  it('has no user and no password, wherever it stands', () => {
    const secret = fc.stringMatching(/^[a-z0-9]{6,20}$/).map((text) => `S${text}`);
    const scheme = fc.constantFrom('postgres', 'redis', 'rediss', 'https');
    fc.assert(
      fc.property(secret, secret, scheme, (user, password, protocol) => {
        for (const address of [
          `${protocol}://${user}:${password}@db.example:5432/app`,
          `${protocol}://:${password}@db.example`,
          `${protocol}://${user}:p@${password}@[::1]:6379/0`,
        ]) {
          const error = Object.assign(new TypeError(`cannot be fetched: ${address}`), { input: address });
          const line = logged({ err: new Error('outer', { cause: error }), address, of: { address } });
          expect(line).not.toContain(password);
          expect(line).toContain(address.replace(/\/\/.*@/, '//'));
          expect(JSON.parse(line)).toMatchObject({ msg: 'a message', err: { type: 'Error' } });
        }
      }),
    );
  });

  it('that has none stays as it is, and so does other text', () => {
    for (const text of [
      'https://api.example.com/a@b',
      'ada@example.com',
      'see https://x.example, or ada@example.com',
    ])
      expect(withoutUserInformation(text)).toBe(text);
  });
});

describe('an error that is logged', () => {
  it('is without the arguments of the command that failed, and keeps its message, code and stack', () => {
    const error = Object.assign(new Error('WRONGPASS'), {
      code: 'WRONGPASS',
      command: { name: 'auth', args: ['nobody', 'hunter2'] },
    });
    const line = logged({ err: error });
    expect(line).not.toContain('hunter2');
    expect(JSON.parse(line).err).toMatchObject({
      message: 'WRONGPASS',
      code: 'WRONGPASS',
      command: { name: 'auth' },
      stack: expect.stringContaining('redact.test.ts'),
    });
  });
});

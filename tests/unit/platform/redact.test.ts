import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DatabaseError } from '../../../src/database/errors.ts';
import { withoutUserInformation } from '../../../src/platform/errors.ts';
import { createLogger } from '../../../src/platform/log/log.ts';

/** The lines that logging the fields makes. */
function logged(fields: Record<string, unknown>): string {
  const lines: string[] = [];
  createLogger({
    level: 'debug',
    pretty: false,
    destination: { write: (line) => void lines.push(line) },
  }).emit('auth.login_failed', fields);
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
          expect(JSON.parse(line)).toMatchObject({ event: 'auth.login_failed', err: { type: 'Error' } });
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
  it('says each reason once, whatever it wraps', () => {
    const cause = new TypeError('no such column');
    const line = logged({ err: new DatabaseError('other', new Error('outer', { cause })) });
    expect(JSON.parse(line).err.message).toBe('database: other: outer: no such column');
    for (const reason of ['outer', 'no such column']) expect(line.split(reason)).toHaveLength(2);
    expect(JSON.parse(line).err.stack).toMatch(/^DatabaseError\n {4}at [\s\S]*caused by: TypeError\n {4}at /);
  });

  it.each([
    ['a lost connection', new DatabaseError('unavailable', new Error('Connection terminated'))],
    ['a cancelled statement', new DatabaseError('timeout', new Error('canceling statement'))],
    [
      'a server that is missing',
      new TypeError('fetch failed', {
        cause: Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
      }),
    ],
    [
      'a host name with several addresses',
      Object.assign(new AggregateError([new Error('connect ECONNREFUSED')]), { code: 'ECONNREFUSED' }),
    ],
  ])('has no stack for %s', (_what, error) => {
    const line = logged({ err: error });
    expect(line).not.toContain('redact.test.ts');
    expect(JSON.parse(line).err.message).toMatch(/(terminated|statement|ECONNREFUSED)$/);
  });

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

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Parameter, statement } from '../../../../src/database/statement.ts';
import { useApp } from '../../../support/app.ts';

describe('Values of statements', () => {
  const app = useApp();

  const ECHO = statement<Record<string, unknown>>(
    'echo',
    'SELECT $1::text AS text, $2::text[] AS texts, $3::timestamptz AS instant, $4::bytea AS bytes, $5::bigint AS big, $6::boolean AS bool, $7::int[] AS ints',
  );
  const text = fc.string({ unit: 'binary' }).map((value) => value.toWellFormed().replaceAll('\0', ''));
  const values = fc.record({
    text: fc.option(text),
    texts: fc.array(text),
    // What PostgreSQL's timestamps reach, years before Christ included.
    instant: fc.date({ min: new Date('-004000-01-01'), max: new Date('+020000-01-01'), noInvalidDate: true }),
    bytes: fc.uint8Array(),
    big: fc.integer(),
    bool: fc.boolean(),
    ints: fc.array(fc.integer()),
  });

  it('come back as they went, the first time and after it', async () => {
    await fc.assert(
      fc.asyncProperty(values, async (given) => {
        const [row] = await app.database.query(ECHO, Object.values(given) as Parameter[]);
        expect({ ...row, bytes: new Uint8Array(row?.bytes as Uint8Array) }).toEqual(given);
      }),
      { numRuns: 100 },
    );
  });
});

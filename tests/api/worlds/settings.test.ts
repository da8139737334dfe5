import { describe, expect, it } from 'vitest';
import { type TestApp, useApp } from '../../support/app.ts';
import { tour } from '../../support/tour.ts';

/**
 * Settings of a host, a database or a role that change what a statement or its result means, and more of the kind. Several
 * have a database together: each takes longer to start than to be asked.
 */
const WORLDS: readonly Readonly<Record<string, string>>[] = [
  {
    TimeZone: 'Europe/Berlin',
    DateStyle: 'SQL, DMY',
    IntervalStyle: 'sql_standard',
    bytea_output: 'escape',
    default_transaction_isolation: 'repeatable read',
    plan_cache_mode: 'force_generic_plan',
  },
  {
    TimeZone: 'America/New_York',
    DateStyle: 'German, DMY',
    IntervalStyle: 'iso_8601',
    extra_float_digits: '-15',
    default_transaction_isolation: 'serializable',
    default_transaction_deferrable: 'on',
    plan_cache_mode: 'force_custom_plan',
  },
  {
    TimeZone: 'Asia/Kathmandu',
    DateStyle: 'Postgres, MDY',
    array_nulls: 'off',
    search_path: 'nowhere',
    enable_indexscan: 'off',
    synchronize_seqscans: 'off',
  },
  {
    standard_conforming_strings: 'off',
    backslash_quote: 'on',
    transform_null_equals: 'on',
    xmloption: 'document',
    search_path: 'pg_catalog, public',
  },
  { quote_all_identifiers: 'on', row_security: 'off', exit_on_error: 'on', lock_timeout: '1ms' },
];

/** The settings of a server as it comes. */
const USUAL = Object.fromEntries([
  ['TimeZone', 'UTC'],
  ['DateStyle', 'ISO, MDY'],
  ['IntervalStyle', 'postgres'],
  ['search_path', '"$user", public'],
  ['default_transaction_isolation', 'read committed'],
  ['default_transaction_deferrable', 'off'],
  ['bytea_output', 'hex'],
  ['extra_float_digits', '1'],
  ['array_nulls', 'on'],
  ['standard_conforming_strings', 'on'],
  ['transform_null_equals', 'off'],
]);

describe('What a server may set', () => {
  const app = useApp({ world: USUAL });
  let expected: readonly string[] = [];

  it('is nothing on a server as it comes', async () => {
    expected = await tour(app);
    expect(expected.filter((line) => /: 50\d /.test(line))).toEqual([]);
  });

  describe.each(WORLDS.map((world) => [JSON.stringify(world), world] as const))('%s', (_name, world) => {
    const other: TestApp = useApp({ world: { ...USUAL, ...world } });

    it('changes no answer', async () => {
      expect(await tour(other)).toEqual(expected);
    });
  });
});

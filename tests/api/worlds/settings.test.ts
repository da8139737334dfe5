import { describe, expect, it } from 'vitest';
import { type TestApp, useApp } from '../../support/app.ts';
import { tour } from '../../support/tour.ts';

/** Settings of a host, a database or a role that change what a statement or its result means, and more of the kind. */
const SETTINGS: readonly [string, string][] = [
  ['TimeZone', 'Europe/Berlin'],
  ['TimeZone', 'America/New_York'],
  ['TimeZone', 'Asia/Kathmandu'],
  ['DateStyle', 'SQL, DMY'],
  ['DateStyle', 'German, DMY'],
  ['DateStyle', 'Postgres, MDY'],
  ['IntervalStyle', 'sql_standard'],
  ['IntervalStyle', 'iso_8601'],
  ['bytea_output', 'escape'],
  ['extra_float_digits', '-15'],
  ['array_nulls', 'off'],
  ['standard_conforming_strings', 'off'],
  ['backslash_quote', 'on'],
  ['transform_null_equals', 'on'],
  ['exit_on_error', 'on'],
  ['row_security', 'off'],
  ['xmloption', 'document'],
  ['quote_all_identifiers', 'on'],
  ['search_path', 'nowhere'],
  ['search_path', 'pg_catalog, public'],
  ['default_transaction_isolation', 'repeatable read'],
  ['default_transaction_isolation', 'serializable'],
  ['default_transaction_deferrable', 'on'],
  ['lock_timeout', '1ms'],
  ['plan_cache_mode', 'force_generic_plan'],
  ['plan_cache_mode', 'force_custom_plan'],
  ['enable_indexscan', 'off'],
  ['synchronize_seqscans', 'off'],
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

  describe.each(SETTINGS)('%s = %s', (name, value) => {
    const other: TestApp = useApp({ world: { ...USUAL, [name]: value } });

    it('changes no answer', async () => {
      expect(await tour(other)).toEqual(expected);
    });
  });
});

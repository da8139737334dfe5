import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, temporaryFolder } from '../support/processes/process.ts';

const RULES = join(ROOT, 'deploy/alerts.yml');

it('promtool accepts deploy/alerts.yml', () => {
  expect(execFileSync('promtool', ['check', 'rules', RULES], { encoding: 'utf8' })).toContain('SUCCESS');
});

/** A test of promtool: the alerts that are firing after two minutes of these values. */
const firing = (up: number, writable: number, expected: readonly string[]) => ({
  interval: '15s',
  input_series: [
    { series: 'database_up{instance="a"}', values: `${up}x8` },
    { series: 'database_writable{instance="a"}', values: `${writable}x8` },
  ],
  promql_expr_test: [
    {
      expr: 'sum by (alertname) (ALERTS{alertstate="firing"})',
      eval_time: '2m',
      exp_samples: expected.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
    },
  ],
});

it('of a database that is away and one that cannot write, one alert each tells', async () => {
  const file = join(await temporaryFolder(), 'rules.test.yml');
  const tests = [
    firing(1, 1, []),
    firing(0, 1, ['DatabaseUnreachable']),
    firing(0, 0, ['DatabaseNotWritable']),
  ];
  // JSON is YAML.
  await writeFile(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: '15s', tests }));
  expect(execFileSync('promtool', ['test', 'rules', file], { encoding: 'utf8' })).toContain('SUCCESS');
});

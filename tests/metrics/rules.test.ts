import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ROOT, temporaryFolder } from '../support/processes/process.ts';

const RULES = join(ROOT, 'deploy/alerts.yml');

it('promtool accepts deploy/alerts.yml', () => {
  expect(execFileSync('promtool', ['check', 'rules', RULES], { encoding: 'utf8' })).toContain('SUCCESS');
});

/** Series in promtool's notation, such as `0+10x20`: one value every 15 s. */
type Series = Readonly<Record<string, string>>;

interface Case {
  readonly alert: string;
  /** With these it fires, and no other alert. */
  readonly bad: Series;
  /** With these none does. */
  readonly good: Series;
}

const UP = 'up{job="content-graph",instance="a"}';
const CASES: readonly Case[] = parse(readFileSync(join(import.meta.dirname, 'alert-cases.yml'), 'utf8'));

/** After this, every alert has had its time. */
const AT = '39m';

const testOf = (series: Series, expected: readonly string[]) => {
  // One that does not look for missing targets has some.
  const all = Object.keys(series).some((name) => name.startsWith('up{'))
    ? series
    : { ...series, [UP]: '1x160' };
  return {
    interval: '15s',
    input_series: Object.entries(all).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      {
        expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: AT,
        exp_samples: expected.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
      },
    ],
  };
};

describe('deploy/alerts.yml', () => {
  it.each(CASES)('$alert fires when it is to, and no other does', async ({ alert, bad, good }) => {
    const file = join(await temporaryFolder(), 'rules.test.yml');
    const tests = [testOf(bad, [alert]), testOf(good, [])];
    // JSON is YAML.
    await writeFile(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: '15s', tests }));
    expect(execFileSync('promtool', ['test', 'rules', file], { encoding: 'utf8' })).toContain('SUCCESS');
  });

  it('has no alert that is not tried here', () => {
    const { groups } = parse(readFileSync(RULES, 'utf8')) as {
      groups: { rules: { alert: string }[] }[];
    };
    const names = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
    expect(names).toEqual(CASES.map(({ alert }) => alert));
  });
});

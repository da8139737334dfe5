import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SETTING_NAMES } from '../../src/platform/config/setting-table.ts';

const read = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');

describe('docs/operate/operations.md', () => {
  const page = read('docs/operate/operations.md');

  it('names every setting that docs/reference/limits.md does not have', () => {
    const limits = read('docs/reference/limits.md');
    const missing = SETTING_NAMES.filter(
      (name) => !page.includes(`\`${name}`) && !limits.includes(`\`${name}`),
    );
    expect(missing, `add ${missing} to a row of the table "Settings" in docs/operate/operations.md`).toEqual(
      [],
    );
  });

  it('has a section for each alert, which the alert links to', () => {
    const alerts = [...read('deploy/alerts.yml').matchAll(/- alert: (\w+)/g)].map(([, name]) => `${name}`);
    expect(alerts.length).toBeGreaterThan(5);
    expect(
      alerts.filter((name) => !name.startsWith('ContentGraph')),
      'the names of alerts in deploy/alerts.yml start with "ContentGraph"',
    ).toEqual([]);
    expect([...page.matchAll(/^### (\w+)$/gm)].map(([, name]) => name)).toEqual(alerts);
    for (const name of alerts)
      expect(read('deploy/alerts.yml')).toContain(`docs/operate/operations.md#${name.toLowerCase()}`);
  });
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const read = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');

it('docs/operate/runbooks.md has a section for each alert, which the alert links to', () => {
  const rules = read('deploy/alerts.yml');
  const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => `${name}`);
  expect(alerts.length).toBeGreaterThan(5);
  expect(
    alerts.filter((name) => !name.startsWith('ContentGraph')),
    'the names of alerts in deploy/alerts.yml start with "ContentGraph"',
  ).toEqual([]);
  const sections = [...read('docs/operate/runbooks.md').matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
  expect(sections, 'docs/operate/runbooks.md needs the alerts as headings, in the same order').toEqual(
    alerts,
  );
  for (const name of alerts) expect(rules).toContain(`docs/operate/runbooks.md#${name.toLowerCase()}`);
});

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { printEventLists } from '../../scripts/api-docs/log-events.ts';
import { LOG_EVENTS } from '../../src/platform/log/log-events.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

const TABLE = 'src/platform/log/log-events.ts';
const code = globSync('src/**/*.ts', { cwd: ROOT, exclude: ['src/generated/**', '**/browser/**', TABLE] })
  .map(read)
  .join('\n');

describe('docs/operate/logging.md', () => {
  it('has the events of the code, and no other', () => {
    const page = read('docs/operate/logging.md');
    expect(page, 'the lists are generated: run "npm run docs:api"').toBe(printEventLists(page));
  });

  const codes = Object.keys(LOG_EVENTS);

  it.each(codes)('has the event %s, which the service logs', (event) => {
    expect(code.includes(`'${event}'`), `nothing logs ${event}: remove it from ${TABLE}`).toBe(true);
  });

  it('has codes of the form area.what_happened', () => {
    for (const event of codes) expect(event).toMatch(/^[a-z_]+\.[a-z_]+$/);
  });

  it.each(Object.entries(LOG_EVENTS))('has a constant message of %s, in sentence case', (_event, entry) => {
    expect(entry.message).toMatch(/^[A-Z].*[^.]$/);
  });
});

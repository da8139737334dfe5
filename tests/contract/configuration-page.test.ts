import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { printSettingTables } from '../../scripts/api-docs/settings.ts';
import { FILE_SETTINGS, SETTING_NAMES } from '../../src/platform/config/setting-table.ts';

const read = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');

describe('docs/operate/configuration.md', () => {
  const page = read('docs/operate/configuration.md');
  const rows = [...page.matchAll(/^\| `([A-Z_]+)`( \*)? \| (.*) \|$/gm)];

  it('has each setting in one row', () => {
    expect(
      rows.map(([, name]) => name).sort(),
      'add the setting to a group of scripts/api-docs/settings.ts, then run "npm run docs:api"',
    ).toEqual([...SETTING_NAMES].sort());
  });

  it('has the defaults and the words of .env.example', () => {
    expect(page, 'the tables are generated: run "npm run docs:api"').toBe(
      printSettingTables(page, read('.env.example')),
    );
  });

  it('marks the settings that may come from a file', () => {
    const marked = rows.filter(([, , mark]) => mark !== undefined).map(([, name]) => name);
    expect(marked.sort()).toEqual([...FILE_SETTINGS].sort());
  });

  it('says what a number increases and decreases', () => {
    const numbers = rows.filter(([, , , cells = '']) => /^`\d+` /.test(cells));
    expect(numbers.length).toBeGreaterThan(30);
    const silent = numbers.filter(
      ([, name, , cells = '']) => name !== 'PORT' && cells.split(' | ').length !== 4,
    );
    expect(silent.map(([, name]) => name)).toEqual([]);
  });
});

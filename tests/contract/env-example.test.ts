import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/platform/config.ts';
import { FILE_SETTINGS, SETTING_NAMES } from '../../src/platform/setting-table.ts';

const lines = readFileSync(fileURLToPath(new URL('../../.env.example', import.meta.url)), 'utf8').split('\n');
const settings = lines.flatMap((line, index) => {
  const [, comment = '', name, value = ''] = /^(# )?([A-Z][A-Z0-9_]*)=(.*)$/.exec(line) ?? [];
  return name === undefined ? [] : [{ name, value, set: comment === '', before: lines[index - 1] ?? '' }];
});

describe('.env.example', () => {
  it('names every setting once, and nothing else', () => {
    expect(settings.map(({ name }) => name).sort()).toEqual([...SETTING_NAMES].sort());
  });

  it('says in a sentence what each one is', () => {
    for (const { name, before } of settings) expect(before, name).toMatch(/^# [A-Z].{10,}\.$/);
  });

  it('says which settings may come from a file', () => {
    const header = lines.slice(0, lines.indexOf('')).join(' ');
    for (const name of FILE_SETTINGS) expect(header).toContain(name);
  });

  it('gives the defaults: a copy of it changes nothing', () => {
    const given = settings.filter(({ set }) => set);
    for (const { name, value } of given) expect(value, name).not.toBe('');
    expect(loadConfig(Object.fromEntries(given.map(({ name, value }) => [name, value])))).toEqual(
      loadConfig({}),
    );
  });

  it('shows values that are taken where a setting has no default', () => {
    const examples = settings.filter(({ set, value }) => !set && value !== '');
    expect(examples.length).toBeGreaterThan(0);
    expect(() =>
      loadConfig(Object.fromEntries(examples.map(({ name, value }) => [name, value]))),
    ).not.toThrow();
  });
});

/** The names of all values, those of groups too. */
const namesIn = (value: object): string[] =>
  Object.entries(value).flatMap(([name, part]) =>
    part !== null && typeof part === 'object' && !Array.isArray(part) ? namesIn(part) : [name],
  );

it('each setting does something: its value is read outside of the configuration', () => {
  const src = fileURLToPath(new URL('../../src', import.meta.url));
  const code = globSync('**/*.ts', { cwd: src })
    .filter((path) => !/^generated|platform.config\.ts$/.test(path))
    .map((path) => readFileSync(`${src}/${path}`, 'utf8'))
    .join('\n');
  const unread = namesIn(loadConfig({})).filter((name) => !new RegExp(`\\b${name}\\b`).test(code));
  expect(unread, 'read them where the service is composed (src/app.ts), or delete the settings').toEqual([]);
});

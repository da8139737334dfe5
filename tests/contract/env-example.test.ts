import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/platform/config/config.ts';
import { FILE_SETTINGS, SETTING_NAMES, variables } from '../../src/platform/config/setting-table.ts';

const lines = readFileSync(fileURLToPath(new URL('../../.env.example', import.meta.url)), 'utf8').split('\n');
const settings = lines.flatMap((line, index) => {
  const [, comment = '', name, value = ''] = /^(# )?([A-Z][A-Z0-9_]*)=(.*)$/.exec(line) ?? [];
  return name === undefined ? [] : [{ name, value, set: comment === '', before: lines[index - 1] ?? '' }];
});

describe('.env.example', () => {
  it('names every setting once, and nothing else', () => {
    expect(
      settings.map(({ name }) => name).sort(),
      '.env.example and src/platform/config/setting-table.ts differ: each setting of the one needs its line in the other',
    ).toEqual([...SETTING_NAMES].sort());
  });

  it('says in a sentence what each one is', () => {
    for (const { name, before } of settings)
      expect(
        before,
        `the line before ${name} in .env.example must be a comment that ends with a full stop`,
      ).toMatch(/^# [A-Z].{10,}\.$/);
  });

  it('says which settings may come from a file', () => {
    const header = lines.slice(0, lines.indexOf('')).join(' ');
    for (const name of FILE_SETTINGS)
      expect(header, `name ${name} among the secrets at the top of .env.example`).toContain(name);
  });

  it('has units of durations and sizes at the end of the names, except for the names of OpenTelemetry', () => {
    const numbers = settings.filter(({ name }) => {
      const { error } = variables.shape[name as keyof typeof variables.shape].safeParse('x');
      return /must be a (?:whole )?number/.test(error?.message ?? '');
    });
    expect(numbers.length).toBeGreaterThan(30);
    const wrong = numbers.filter(({ name, before }) => {
      const isMeasure =
        /TIMEOUT|DELAY|RETENTION|INTERVAL/.test(name) ||
        /\b(?<!per )(?:milliseconds?|seconds?|hours?|days?|bytes)\b/i.test(before);
      const hasUnit = /_(?:MS|SECONDS|HOURS|DAYS|BYTES)(?:_PER_[A-Z]+)?$/.test(name);
      return isMeasure !== hasUnit && !name.startsWith('OTEL_');
    });
    expect(
      wrong.map(({ name }) => name),
      'end the names of these settings with _MS, _SECONDS, _HOURS, _DAYS or _BYTES, and name the unit in .env.example',
    ).toEqual([]);
  });

  it('gives the defaults: a copy of it changes nothing', () => {
    const given = settings.filter(({ set }) => set);
    for (const { name, value } of given)
      expect(value, `give ${name} its default in .env.example, or comment the line out`).not.toBe('');
    expect(
      loadConfig(Object.fromEntries(given.map(({ name, value }) => [name, value]))),
      'give the defaults of src/platform/config/setting-table.ts in .env.example',
    ).toEqual(loadConfig({}));
  });

  it('shows values that are taken where a setting has no default', () => {
    const examples = settings.filter(({ set, value }) => !set && value !== '');
    expect(examples.length).toBeGreaterThan(0);
    expect(() =>
      loadConfig(Object.fromEntries(examples.map(({ name, value }) => [name, value]))),
    ).not.toThrow();
  });
});

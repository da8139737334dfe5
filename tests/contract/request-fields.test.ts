import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { REQUEST_FIELDS } from '../../src/platform/request-fields.ts';

const HTTP = readFileSync(join(import.meta.dirname, '../../docs/reference/http.md'), 'utf8');

it('docs/reference/http.md lists each request field that the service reads, and its meaning', () => {
  const [, section = ''] = HTTP.split('## Request fields');
  const listed = [
    ...(section.split('\n## ')[0] ?? '').matchAll(/^\| `([\w-]+)` \| (\w+) \| ([^|]+) \|$/gm),
  ].map(([, name = '', ...meaning]) => [name.toLowerCase(), ...meaning]);
  const defined = Object.entries(REQUEST_FIELDS).map(([name, { values, malformed }]) => [
    name,
    values,
    malformed,
  ]);
  expect(listed).toEqual(defined);
});

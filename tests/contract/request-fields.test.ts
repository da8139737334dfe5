import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { REQUEST_FIELDS } from '../../src/platform/request-fields.ts';

const HTTP = readFileSync(join(import.meta.dirname, '../../docs/reference/http.md'), 'utf8');

it('docs/reference/http.md lists each request field that the service reads', () => {
  const [, section = ''] = HTTP.split('## Request fields');
  const rows = (section.split('\n## ')[0] ?? '').matchAll(/^\| `([\w-]+)` \| (?:one|list) \| [^|]+ \|$/gm);
  const listed = [...rows].map(([, name = '']) => name.toLowerCase());
  expect(listed).toEqual(Object.keys(REQUEST_FIELDS));
});

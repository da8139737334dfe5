import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  PAGE_FILE,
  printCompatibilityPage,
  readCompatibilityResults,
} from '../../scripts/compatibility-page.ts';
import { HOSTS } from '../compatibility/support/results.ts';

const SUITE = join(import.meta.dirname, '../compatibility');
const TO_UPDATE =
  'run "npm run test:compatibility -- --write", and again with TEST_HOST=yoga; both need DATABASE_URL';

const results = readCompatibilityResults();

describe('docs/reference/compatibility.md', () => {
  it('is what the results say', () => {
    expect(readFileSync(PAGE_FILE, 'utf8'), TO_UPDATE).toBe(printCompatibilityPage(results));
  });

  it.each(HOSTS)('has a row for each test file, which has passed on the host "%s"', (host) => {
    const files = globSync('*/*.test.ts', { cwd: SUITE }).map((file) => file.replace('.test.ts', ''));
    expect(results[host].map(({ file }) => file).toSorted(), TO_UPDATE).toEqual(files.toSorted());
  });

  it('says the same of both hosts', () => {
    expect(results.yoga, TO_UPDATE).toEqual(results.direct);
  });
});

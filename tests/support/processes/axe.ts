import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** What axe-core finds in a page, each by its rule and the first element. */
export async function violations(page: Page): Promise<string[]> {
  // As a debugger would: the policy of the page may allow no script.
  await page.evaluate(await readFile(AXE, 'utf8'));
  const found = await page.evaluate<AxeResults>('axe.run()');
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}

import { buildExample } from '../../../scripts/example-package.ts';

/** Run once before the tests in a browser. */
export function setup(): void {
  buildExample();
}

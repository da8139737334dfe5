import { setPriority } from 'node:os';

const FIRST = -15;
const USUAL = 0;
/** How many works are under way that go first. */
let underWay = 0;

/**
 * Has this process, which generates load and takes its times, run before those that it loads, where it is allowed to:
 * what it is late with, because it got no processor, would be told of them. Those started before are not touched.
 */
export async function beforeOthers<T>(work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return work();
  setPriority(FIRST);
  underWay += 1;
  try {
    return await work();
  } finally {
    underWay -= 1;
    if (underWay === 0) setPriority(USUAL);
  }
}

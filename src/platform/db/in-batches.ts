/**
 * Repeats a statement that changes at most `size` rows, until it changes fewer: short transactions hold locks
 * briefly. `run` returns how many rows it changed; so does this, in total. Throws what `run` throws.
 */
export async function inBatches(size: number, run: () => Promise<number>): Promise<number> {
  let total = 0;
  for (;;) {
    const changed = await run();
    total += changed;
    if (changed < size) return total;
  }
}

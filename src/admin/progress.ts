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

export function showProgress(stream: NodeJS.WriteStream): Progress {
  let step = '';
  let bytes = 0;
  let shownMs = 0;
  const show = () => {
    if (!stream.isTTY) return;
    shownMs = performance.now();
    stream.write(`\r\x1b[K${step}${bytes > 0 ? ` ${Math.floor(bytes / MIB)} MiB` : ''}`);
  };
  return {
    add(more) {
      bytes += more;
      if (performance.now() - shownMs >= SHOW_MS) show();
    },
    step(name, done = 0) {
      const isNew = name !== step;
      step = name;
      bytes = done;
      if (isNew || performance.now() - shownMs >= SHOW_MS) show();
    },
    end() {
      if (stream.isTTY) stream.write('\r\x1b[K');
    },
  };
}

const due: (() => void)[] = [];

function doAll(): void {
  for (const write of due.splice(0)) write();
}

/**
 * Writes at the end of this turn of the event loop, together with what else was answered in it. A write wakes up its
 * reader where that sleeps, which costs as much as a short query; the second of two in a row finds it awake.
 * Rejects with what `write` throws.
 */
export function batchWrite(write: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      try {
        write();
        resolve();
      } catch (error) {
        reject(error);
      }
    };
    if (due.push(settle) === 1) setImmediate(doAll);
  });
}

const due: (() => void)[] = [];

function doAll(): void {
  for (const write of due.splice(0)) write();
}

/**
 * Writes at the end of this turn of the event loop, together with the turn's other responses. A write to a
 * sleeping reader wakes it, which costs as much as a short query; a second write right after finds it awake.
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

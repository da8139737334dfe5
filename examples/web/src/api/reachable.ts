/** Tells whatever waits for the service that it can be reached again: the network is back, or the stream is. */
const again = new EventTarget();

export function tellReachable(): void {
  again.dispatchEvent(new Event('reachable'));
}

export function onReachable(callback: () => void, signal: AbortSignal): void {
  again.addEventListener('reachable', callback, { signal });
}

/** Waits, but no longer than the service cannot be reached. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const waiting = new AbortController();
    const end = () => {
      clearTimeout(timer);
      waiting.abort();
      resolve();
    };
    const timer = setTimeout(end, ms);
    onReachable(end, waiting.signal);
  });
}

window.addEventListener('online', tellReachable);

/**
 * Calls a function whenever the user comes back to the page, for example from another tab or device.
 * @returns a function that stops it
 */
export function watchReturns(onReturn: () => void): () => void {
  const stop = new AbortController();
  const { signal } = stop;
  const onVisible = () => document.visibilityState === 'visible' && onReturn();
  window.addEventListener('focus', onReturn, { signal });
  window.addEventListener('pageshow', onReturn, { signal });
  document.addEventListener('visibilitychange', onVisible, { signal });
  return () => stop.abort();
}

/** Formats bytes as hexadecimal digits. */
export const formatHex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** Creates a random key of 128 bits. Pages over plain HTTP have no `crypto.randomUUID`. */
export const createRandomKey = (): string => formatHex(crypto.getRandomValues(new Uint8Array(16)));

/** A controller that is also aborted by other signals. */
export interface LinkedAbort {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
  /** Stops listening to the other signals. */
  unlink(): void;
}

/** Links a new controller to signals. Unlike `AbortSignal.any`, it exists in Hermes and leaves nothing behind. */
export function linkSignals(...sources: readonly (AbortSignal | undefined)[]): LinkedAbort {
  const controller = new AbortController();
  const onAbort = () => {
    const aborted = sources.find((source) => source?.aborted === true);
    controller.abort(aborted?.reason);
  };
  for (const source of sources) source?.addEventListener('abort', onAbort);
  if (sources.some((source) => source?.aborted === true)) onAbort();
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    unlink() {
      for (const source of sources) source?.removeEventListener('abort', onAbort);
    },
  };
}

/** The part of `Storage` that intents need. */
export interface IntentStorage {
  getItem(name: string): string | null;
  setItem(name: string, value: string): void;
  removeItem(name: string): void;
}

/** The part of `EventSource` that the client needs. */
export interface EventSourceLike {
  addEventListener(
    type: string,
    listener: (event: { readonly data?: unknown; readonly lastEventId?: string | null }) => void,
  ): void;
  close(): void;
}

/** The class of a browser or of a library, such as `react-native-sse`. */
export type EventSourceConstructor = new (
  url: string,
  init: { readonly withCredentials: boolean },
) => EventSourceLike;

/** The part of `LockManager` that tabs need. */
interface LockManagerLike {
  request(
    name: string,
    options: { readonly signal: AbortSignal },
    callback: () => Promise<void>,
  ): Promise<unknown>;
}

interface PageGlobals {
  readonly sessionStorage?: IntentStorage;
  readonly document?: EventTarget & { readonly visibilityState?: string };
  readonly addEventListener?: EventTarget['addEventListener'];
  readonly removeEventListener?: EventTarget['removeEventListener'];
  readonly reportError?: (error: unknown) => void;
  readonly navigator?: { readonly locks?: LockManagerLike };
  readonly EventSource?: EventSourceConstructor;
  readonly BroadcastChannel?: typeof BroadcastChannel;
  readonly fetch: typeof fetch;
}

/** The globals of a page. Outside a page, most are undefined. */
export const globals: PageGlobals = globalThis;

/** The storage of the tab. Undefined outside a page, and where the browser denies access. */
export function findSessionStorage(): IntentStorage | undefined {
  try {
    return globals.document === undefined ? undefined : globals.sessionStorage;
  } catch {
    return undefined;
  }
}

/** Reports an error of a callback as an uncaught error, so that it does not close a stream. */
export function reportCallbackError(error: unknown): void {
  if (globals.reportError !== undefined) globals.reportError(error);
  else
    setTimeout(() => {
      throw error;
    });
}

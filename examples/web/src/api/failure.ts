import { type CallOptions, type ContentGraphError, isContentGraphError } from 'content-graph-client';

/** Why a request failed, and when it is repeated without the person. */
export interface Failure {
  readonly error: ContentGraphError;
  readonly retryAtMs?: number | undefined;
}

/**
 * The error of a call, or undefined if the call was aborted, for example because another account has signed in.
 * Errors of the page itself are thrown again.
 */
export function errorOf(error: unknown): ContentGraphError | undefined {
  if (isContentGraphError(error)) return error;
  if (error instanceof DOMException && error.name === 'AbortError') return undefined;
  throw error;
}

/** A call that a person may begin again, and why it has not succeeded yet. */
export interface Call {
  readonly failure: Failure | undefined;
  /** Sends it, unless it is being sent. */
  run(): Promise<void>;
}

export function createCall(send: (options: CallOptions) => Promise<void>, update: () => void): Call {
  let failure: Failure | undefined;
  let isSending = false;
  function show(next: Failure | undefined): void {
    failure = next;
    update();
  }
  return {
    get failure() {
      return failure;
    },
    async run() {
      if (isSending) return;
      isSending = true;
      try {
        await send({ onRetry: (error, retryAtMs) => show({ error, retryAtMs }) });
        show(undefined);
      } catch (caught) {
        const error = errorOf(caught);
        show(error && { error });
      } finally {
        isSending = false;
      }
    },
  };
}

import { ContentGraphError, type ErrorCode, type ErrorDetails } from './errors.ts';
import { createRandomKey, globals } from './platform.ts';
import type { StreamState } from './stream-state.ts';

/** One step of the stream: the position before, the position after, and the event between them, if there is one. */
export interface StreamStep {
  readonly after: string | undefined;
  readonly position: string;
  /** The `data` of an event as JSON. */
  readonly data?: string | undefined;
  /** True if events are lost. */
  readonly isGap?: boolean | undefined;
}

/** An error as it can be sent to another tab. */
interface ErrorLetter {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: ErrorDetails;
}

/** A state as it can be sent to another tab. */
export interface StateLetter {
  readonly state: StreamState;
  readonly error: ErrorLetter | undefined;
}

/** What tabs send each other. */
export type TabLetter =
  /** Asks the leader for what came after a position. */
  | { readonly kind: 'hello'; readonly tab: string; readonly position: string | undefined }
  /** The response of the leader. Without `steps`, the leader does not know the position. */
  | {
      readonly kind: 'welcome';
      readonly tab: string;
      readonly position: string | undefined;
      readonly steps: readonly StreamStep[] | undefined;
      readonly state: StateLetter;
    }
  | { readonly kind: 'step'; readonly step: StreamStep }
  | { readonly kind: 'state'; readonly position: string | undefined; readonly state: StateLetter }
  | { readonly kind: 'retry' };

/** The connection of a tab to the other tabs. */
export interface TabChannel {
  readonly tab: string;
  post(letter: TabLetter): void;
  close(): void;
}

export function formatState(state: StreamState): StateLetter {
  if (!('error' in state) || state.error === undefined) return { state, error: undefined };
  const { error } = state;
  const { code, message } = error;
  return { state: { ...state, error: undefined }, error: { code, message, details: { ...error } } };
}

export function parseState({ state, error }: StateLetter): StreamState {
  if (error === undefined || !('error' in state)) return state;
  return { ...state, error: new ContentGraphError(error.code, error.message, error.details) };
}

/** Opens the channel, where the platform has one. */
export function openTabChannel(name: string, onLetter: (letter: TabLetter) => void): TabChannel | undefined {
  if (globals.BroadcastChannel === undefined || globals.navigator?.locks === undefined) return undefined;
  const channel = new globals.BroadcastChannel(name);
  channel.onmessage = ({ data }: MessageEvent) => {
    const letter: TabLetter = data;
    onLetter(letter);
  };
  return {
    tab: createRandomKey(),
    post: (letter) => channel.postMessage(letter),
    close: () => channel.close(),
  };
}

/**
 * Runs the work of the leader while this tab holds the lock. Insecure pages have no locks and sandboxed frames no access:
 * each of them is a leader.
 */
export async function leadTabs(
  name: string,
  signal: AbortSignal,
  lead: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const locks = globals.navigator?.locks;
  if (locks === undefined) return lead(signal);
  let wasGranted = false;
  try {
    await locks.request(name, { signal }, async () => {
      wasGranted = true;
      await lead(signal);
    });
  } catch (error) {
    if (wasGranted) throw error;
    if (!signal.aborted) await lead(signal);
  }
}

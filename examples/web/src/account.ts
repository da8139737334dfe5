import type { CallOptions, SessionUser } from 'content-graph-client';
import { session } from './api/client.ts';
import { errorOf, type Failure } from './api/failure.ts';
import { watchReturns } from './live/returns.ts';

type Cause = 'start' | 'here' | 'elsewhere' | 'ended';

export interface AccountOptions {
  /** Called when another account is signed in than before, or none. */
  readonly onChange: (user: SessionUser | null, cause: Cause) => void;
  readonly update: () => void;
}

/**
 * Who is signed in. The cookie belongs to all tabs: one that signs in or out tells the others, and each asks again when
 * its user comes back to it.
 */
export function watchAccount({ onChange, update }: AccountOptions) {
  const channel = new BroadcastChannel('account');
  let user: SessionUser | null | undefined;
  let failure: Failure | undefined;
  /** Aborts the last question, whose answer would be out of date. */
  let asking = new AbortController();
  let isSigningOut = false;

  function change(next: SessionUser | null, cause: Cause): void {
    asking.abort();
    failure = undefined;
    const isSame = user !== undefined && next?.id === user?.id;
    // The name may be another.
    user = next;
    // The stream and other requests may be rejected before the logout is answered.
    if (!isSame) onChange(next, next === null && isSigningOut ? 'here' : cause);
    update();
  }

  function show(next: Failure | undefined): void {
    failure = next;
    update();
  }

  async function ask(): Promise<void> {
    asking.abort();
    asking = new AbortController();
    const { signal } = asking;
    try {
      const onRetry: CallOptions['onRetry'] = (error, retryAtMs) => show({ error, retryAtMs });
      const found = await session.getViewer({ signal, onRetry });
      if (!signal.aborted) change(found, user === undefined ? 'start' : 'elsewhere');
    } catch (caught) {
      const error = errorOf(caught);
      if (error !== undefined) show({ error });
    }
  }

  const onReturn = () => void ask();
  channel.onmessage = onReturn;
  watchReturns(onReturn);

  return {
    ask,
    /** As the service has named them last. Null if nobody is signed in, undefined until the first answer. */
    get user() {
      return user;
    },
    /** Why it is not known yet who is signed in. */
    get failure() {
      return failure;
    },
    onSignedIn(next: SessionUser): void {
      change(next, 'here');
      channel.postMessage('changed');
    },
    /** The service has rejected the session. */
    onEnded: () => change(null, 'ended'),
    async signOut(options: CallOptions): Promise<void> {
      isSigningOut = true;
      try {
        await session.signOut(options);
        change(null, 'here');
      } finally {
        isSigningOut = false;
      }
      channel.postMessage('changed');
    },
  };
}

import { createLoader } from './api/loader.ts';
import { RequestFailed } from './api/problem.ts';
import { logOut, type User, whoAmI } from './api/session.ts';

export interface AccountOptions {
  /** Called when somebody else is signed in than before, or nobody. */
  readonly onChange: (user: User | null, cause: 'start' | 'here' | 'elsewhere' | 'ended') => void;
  readonly update: () => void;
}

/**
 * Who is signed in. The cookie belongs to all tabs: one that signs in or out tells the others, and each asks again when
 * its user comes back to it.
 */
export function watchAccount({ onChange, update }: AccountOptions) {
  const channel = new BroadcastChannel('account');
  let user: User | null | undefined;
  /** Counts changes and questions: an answer that is older than the last of them is out of date. */
  let latest = 0;
  let isSigningOut = false;

  function change(next: User | null, cause: 'start' | 'here' | 'elsewhere' | 'ended'): void {
    if (user !== undefined && next?.id === user?.id) {
      // The name may be another.
      user = next;
      update();
      return;
    }
    latest += 1;
    user = next;
    // The stream and other requests may be refused before the logout is answered.
    onChange(next, next === null && isSigningOut ? 'here' : cause);
    update();
  }

  const start = createLoader({
    load: whoAmI,
    onData: (found) => change(found, 'start'),
    onSignedOut: () => undefined,
    update,
  });

  async function ask(): Promise<void> {
    if (user === undefined) return start.run();
    latest += 1;
    const asked = latest;
    try {
      const found = await whoAmI();
      if (asked === latest) change(found, 'elsewhere');
    } catch (error) {
      // What the page shows says so already.
      if (!(error instanceof RequestFailed)) throw error;
    }
  }

  const onReturn = () => void ask();
  channel.onmessage = onReturn;
  window.addEventListener('focus', onReturn);
  window.addEventListener('pageshow', onReturn);
  document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && onReturn());

  return {
    /** The first question. Until it is answered, nobody knows who is signed in. */
    start,
    /** As the service has named them last. Null if nobody is signed in. */
    get user() {
      return user;
    },
    onSignedIn(next: User): void {
      change(next, 'here');
      channel.postMessage('changed');
    },
    /** The service has refused the session. */
    onEnded: () => change(null, 'ended'),
    /** Throws RequestFailed. */
    async signOut(): Promise<void> {
      isSigningOut = true;
      try {
        await logOut();
        change(null, 'here');
      } finally {
        isSigningOut = false;
      }
      channel.postMessage('changed');
    },
  };
}

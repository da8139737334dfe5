import { EVENTS_CHANNEL } from '../platform/db/channels.ts';
import type { Listener } from '../platform/db/listener.ts';
import type { Logger } from '../platform/log.ts';
import type { EventFeed } from './feed.ts';

/** The minimum interval between wake-ups. One covers all earlier commits. */
const MIN_INTERVAL_MS = 10;

export interface AnnouncementsOptions {
  readonly feed: Pick<EventFeed, 'wake'>;
  readonly listener: Pick<Listener, 'notify'>;
  readonly log: Logger;
}

/**
 * Wake-ups of readers. They carry no data: readers poll the log in case one is lost. Runs NOTIFY on the connection that
 * listens, after the commit: inside the transaction, PostgreSQL would serialise all commits that notify. The embedded
 * database has only one writing process and needs none.
 */
export function createAnnouncements({ feed, listener, log }: AnnouncementsOptions) {
  let pause: NodeJS.Timeout | undefined;
  let sending = false;
  let again = false;

  function notify(): void {
    if (sending) {
      again = true;
      return;
    }
    const sent = listener.notify(EVENTS_CHANNEL);
    if (sent === undefined) return;
    sending = true;
    sent
      .catch((error: unknown) => log.debug({ err: error }, 'a wake-up could not be sent'))
      .finally(() => {
        pause = setTimeout(rested, MIN_INTERVAL_MS).unref();
      });
  }

  function rested(): void {
    sending = false;
    if (!again) return;
    again = false;
    notify();
  }

  return {
    /** Tells readers, here and in the other instances, about a commit. Calls in quick succession are merged. */
    announce(): void {
      feed.wake();
      notify();
    },
    close: () => clearTimeout(pause),
  };
}

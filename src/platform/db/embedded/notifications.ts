import type { PGlite } from '@electric-sql/pglite';
import type { MessageQueue } from './message-batches.ts';

/** A NOTIFY that has committed. */
export interface Notification {
  readonly channel: string;
  readonly payload: string;
}

interface Sought {
  readonly channel: string;
  /** The channel as NotificationResponse has it (PostgreSQL protocol, "Message Formats"): ended by NUL. */
  readonly mark: Buffer;
}

/** The notifications in a part of a response. The text of a row cannot look like one: it has no NUL. */
function* notificationsIn(data: Uint8Array, sought: readonly Sought[]): Generator<Notification> {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  for (const { channel, mark } of sought) {
    for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, at)) {
      const start = at + mark.length;
      const end = bytes.indexOf(0, start);
      if (end === -1) break;
      yield { channel, payload: bytes.toString('utf8', start, end) };
      at = end;
    }
  }
}

/**
 * All connections share one backend, which sends a notification to the connection that caused it and to no other. So the
 * backend listens, and whoever passes its responses on looks for notifications in them. One that is split between two
 * parts of a response is missed; responses to what ends credentials are short.
 */
export async function tellNotifications(
  db: PGlite,
  queue: MessageQueue,
  channels: readonly string[],
  tell: (notification: Notification) => void,
): Promise<void> {
  for (const channel of channels) await db.exec(`LISTEN ${channel}`);
  const sought = channels.map((channel) => ({ channel, mark: Buffer.from(`${channel}\0`) }));
  const enqueue = queue.enqueue.bind(queue);
  queue.enqueue = (handlerId, message, onData) =>
    enqueue(handlerId, message, (data) => {
      for (const notification of notificationsIn(data, sought)) tell(notification);
      onData(data);
    });
}

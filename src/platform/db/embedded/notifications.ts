/** A NOTIFY that has committed. */
export interface Notification {
  readonly channel: string;
  readonly payload: string;
}

/**
 * Finds the notifications in responses. All connections share one backend, which sends a notification to the connection
 * that caused it and to no other; so the backend listens, and whoever passes its responses on looks for them. One that is
 * split between two parts of a response is missed; responses to what ends credentials are short.
 */
export function notificationFinder(
  channels: readonly string[],
  tell: (notification: Notification) => void,
): (data: Uint8Array) => void {
  // As NotificationResponse has the channel (PostgreSQL protocol, "Message Formats"). No text of a row has a NUL.
  const sought = channels.map((channel) => ({ channel, mark: Buffer.from(`${channel}\0`) }));
  return (data) => {
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    for (const { channel, mark } of sought) {
      for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, at)) {
        const start = at + mark.length;
        const end = bytes.indexOf(0, start);
        if (end === -1) break;
        tell({ channel, payload: bytes.toString('utf8', start, end) });
        at = end;
      }
    }
  };
}

import type pg from 'pg';

type NotificationListener = (notification: pg.Notification | undefined) => void;

/** The notifications of all connections to the embedded database, which has one session behind them. */
export interface Notifications {
  /** Listens on a new connection. */
  hear(client: pg.ClientBase): void;
  /**
   * Calls `listener` for each notification, and without one after a connection was lost, because notifications may be lost
   * with it. Returns a function that stops that.
   */
  notified(listener: NotificationListener): () => void;
}

export function createNotifications(): Notifications {
  const listeners = new Set<NotificationListener>();
  const tell: NotificationListener = (notification) => {
    for (const listener of listeners) listener(notification);
  };
  return {
    hear: (client) => void client.on('notification', tell).on('end', () => tell(undefined)),
    notified(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

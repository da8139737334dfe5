export const POST_CHANGES = `subscription {
  changes(kinds: [POST_CREATED, POST_UPDATED, POST_DELETED]) { kind postId post { id title } }
}`;

/** What has happened to a post. */
export interface PostChange {
  readonly kind: 'POST_CREATED' | 'POST_UPDATED' | 'POST_DELETED';
  readonly postId: string;
  /** As it is now; null if it is gone. */
  readonly post: { readonly id: string; readonly title: string } | null;
}

export interface Follower {
  readonly onChange: (change: PostChange) => void;
  /** The stream is over: the credentials have ended, or events that were missed are no longer stored. */
  readonly onEnd: (error: Error) => void;
}

/** Thrown where trying again is of no use. Any other error is tried again. */
export class Refused extends Error {}

interface Payload {
  readonly data?: { readonly changes: PostChange } | null;
  readonly errors?: readonly { readonly message: string }[];
}

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;

/**
 * Tells of each change of a post until it is stopped. The browser resumes by itself when the connection breaks, but
 * gives up if it gets a status other than 200. Then this asks for an address again, and goes on after the last event.
 */
export function followPosts(findAddress: () => Promise<URL>, { onChange, onEnd }: Follower): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let lastEventId = '';
  let pauseMs = FIRST_PAUSE_MS;
  let stopped = false;

  function stop(): void {
    stopped = true;
    source?.close();
    clearTimeout(timer);
  }

  function end(error: Error): void {
    stop();
    onEnd(error);
  }

  function openLater(): void {
    timer = setTimeout(open, pauseMs * (0.5 + Math.random() / 2));
    pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
  }

  function listen(address: URL): void {
    // Heartbeats that a page can see move the position of a stream on which nothing comes.
    address.searchParams.set('heartbeat', 'visible');
    if (lastEventId !== '') address.searchParams.set('lastEventId', lastEventId);
    const opened = new EventSource(address, { withCredentials: true });
    source = opened;
    let reason = 'The service has ended the stream.';
    opened.addEventListener('open', () => {
      pauseMs = FIRST_PAUSE_MS;
    });
    opened.addEventListener('next', (event) => {
      const { data, errors } = JSON.parse(event.data) as Payload;
      lastEventId = event.lastEventId;
      if (data != null) onChange(data.changes);
      else if (errors?.[0] !== undefined) reason = errors[0].message;
    });
    opened.addEventListener('heartbeat', (event) => {
      lastEventId = event.lastEventId;
    });
    opened.addEventListener('complete', () => end(new Error(reason)));
    opened.addEventListener('error', () => {
      if (opened.readyState === opened.CLOSED) openLater();
    });
  }

  async function open(): Promise<void> {
    try {
      const address = await findAddress();
      if (!stopped) listen(address);
    } catch (error) {
      if (stopped) return;
      if (error instanceof Refused) end(error);
      else openLater();
    }
  }

  void open();
  return stop;
}

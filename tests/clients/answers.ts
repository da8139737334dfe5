import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { onTestFinished } from 'vitest';

/** How often clients in this process have been answered. */
export interface Answers {
  /** With an event stream. */
  opened: number;
  /** With status 429. */
  rejected: number;
}

interface HeadersReceived {
  readonly request: { readonly origin: string };
  readonly response: { readonly statusCode: number; readonly headers: readonly Buffer[] };
}

/**
 * Counts answers whose headers have arrived: `fetch` tells of them on this channel. A client has a position from then
 * on; the server knows of the stream earlier.
 */
export function countAnswers(origin: string): Answers {
  const answers = { opened: 0, rejected: 0 };
  const note = (message: unknown) => {
    const { request, response } = message as HeadersReceived;
    if (request.origin !== origin) return;
    if (response.statusCode === 429) answers.rejected += 1;
    if (response.statusCode !== 200) return;
    if (/multipart\/mixed|text\/event-stream/.test(response.headers.join('\n'))) answers.opened += 1;
  };
  subscribe('undici:request:headers', note);
  onTestFinished(() => void unsubscribe('undici:request:headers', note));
  return answers;
}

import { setTimeout as delay } from 'node:timers/promises';

const PAUSE_MS = 50;
const ATTEMPTS = 10;

/** Sends a request again for as long as there is no response, for a library that does not do so. */
export async function repeat<Result>(
  send: () => Promise<Result>,
  isUnanswered: (error: unknown) => boolean = (error) => error instanceof TypeError,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send();
    } catch (error) {
      if (attempt === ATTEMPTS || !isUnanswered(error)) throw error;
      await delay(PAUSE_MS);
    }
  }
}

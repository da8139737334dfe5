import { Connection } from '../harness/connection.ts';
import { machineMs } from '../harness/machine-time.ts';
import { within } from '../harness/within.ts';

/** A keep-alive connection for one request after another. */
export interface Line {
  /** Sends a request; resolves to when its response arrived, in the machine's time. Rejects unless it is data. */
  ask(request: Buffer): Promise<number>;
  close(): void;
}

const ANSWER_LIMIT_MS = 30_000;

export async function openLine(port: number): Promise<Line> {
  const broken = Promise.withResolvers<never>();
  // It may break while nobody asks.
  broken.promise.catch(() => undefined);
  const connection = await Connection.open(port, broken.reject);
  return {
    ask(request) {
      const response = new Promise<number>((resolve, reject) => {
        connection.send(request, (status, body) => {
          const atMs = machineMs();
          if (status === 200 && !body.includes('"errors"')) resolve(atMs);
          else reject(new Error(`an event was answered with ${status}: ${body.toString('utf8', 0, 500)}`));
        });
      });
      return within(
        ANSWER_LIMIT_MS,
        () => 'the request for an event has no answer',
        Promise.race([response, broken.promise]),
      );
    },
    close: () => connection.close(),
  };
}

import { postRequest } from '../harness/connection.ts';
import { once } from '../harness/load.ts';
import type { ServerProcess } from '../harness/server-process.ts';
import { figure, table } from '../report/markdown.ts';
import { type Accepted, CANDIDATES, type Candidate, requestsFor } from './candidates.ts';

/** A service, and a key for each of its clients. */
export interface Abused {
  readonly server: ServerProcess;
  readonly keys: readonly string[];
  /** CPU time, in milliseconds, that the database spends meanwhile. */
  databaseMs(meanwhile: () => Promise<void>): Promise<number>;
}

/** What one request costs while nothing else goes on. */
export interface Priced extends Accepted {
  readonly elapsedMs: number;
  readonly databaseMs: number;
  /** CPU time of the whole process. */
  readonly processMs: number;
  readonly answerBytes: number;
}

const TRIES = 5;
/** Refused for its size: for its complexity or the bytes of its answer, or for its tokens. */
const LIMITED = /"code":"(?:COMPLEXITY_LIMIT|GRAPHQL_PARSE_FAILED)"/;
const MIB = 1_048_576;
/** What an operation may have of the database: so much, and so much more a MiB of its answer. */
const ALLOWED_MS = 20;
const ALLOWED_MS_A_MIB = 10;

const allowedMs = ({ answerBytes }: Priced) => ALLOWED_MS + (ALLOWED_MS_A_MIB * answerBytes) / MIB;
const shareOfAllowed = (priced: Priced) => priced.databaseMs / allowedMs(priced);

/** Gives each request to the next client, so that none meets its limits. */
class Turns {
  readonly #keys: readonly string[];
  #next = 0;

  constructor(keys: readonly string[]) {
    this.#keys = keys;
  }

  key(): string {
    this.#next += 1;
    return this.#keys[this.#next % this.#keys.length] ?? '';
  }
}

/** The greatest size that the service does not refuse. */
async function greatestSize({ server }: Abused, turns: Turns, candidate: Candidate): Promise<number> {
  let accepted = 0;
  let refused = candidate.maxSize + 1;
  for (let size = candidate.maxSize; accepted + 1 < refused; size = Math.floor((accepted + refused) / 2)) {
    const request = postRequest(
      '/graphql',
      { query: candidate.operation(size) },
      { authorization: `Bearer ${turns.key()}` },
    );
    const { status, text } = await once(server.port, request);
    if (LIMITED.test(text)) refused = size;
    else if (status === 200 && !text.includes('"errors"')) accepted = size;
    else throw new Error(`"${candidate.name}" failed: ${status} ${text.slice(0, 300)}`);
  }
  if (accepted === 0) throw new Error(`"${candidate.name}" is refused in every size`);
  return accepted;
}

/** The least of a few: what else goes on can only add to it. */
async function price(abused: Abused, turns: Turns, accepted: Accepted): Promise<Priced> {
  const { server } = abused;
  let elapsedMs = Number.POSITIVE_INFINITY;
  let databaseMs = Number.POSITIVE_INFINITY;
  let processMs = Number.POSITIVE_INFINITY;
  let answerBytes = 0;
  for (let i = 0; i < TRIES; i += 1) {
    const request = requestsFor(accepted, turns.key())();
    const before = await server.usage();
    const spentMs = await abused.databaseMs(async () => {
      const startMs = performance.now();
      const { text } = await once(server.port, request);
      elapsedMs = Math.min(elapsedMs, performance.now() - startMs);
      answerBytes = Buffer.byteLength(text);
    });
    processMs = Math.min(processMs, (await server.usage()).cpuMs - before.cpuMs);
    databaseMs = Math.min(databaseMs, spentMs);
  }
  return { ...accepted, elapsedMs, databaseMs, processMs, answerBytes };
}

/** Every candidate in the greatest size that the service does not refuse. */
export async function priceAll(abused: Abused): Promise<readonly Priced[]> {
  const turns = new Turns(abused.keys);
  const priced: Priced[] = [];
  for (const candidate of CANDIDATES) {
    const size = await greatestSize(abused, turns, candidate);
    priced.push(await price(abused, turns, { ...candidate, size }));
  }
  return priced;
}

function greatest(priced: readonly Priced[], by: (one: Priced) => number): Priced {
  const [first] = priced.toSorted((a, b) => by(b) - by(a));
  if (first === undefined) throw new Error('the service refuses every candidate');
  return first;
}

/** The dearest for what it may have of the database, the dearest altogether and the one of the largest answer. */
export function worstOf(priced: readonly Priced[]): readonly Priced[] {
  return [
    ...new Set([
      greatest(priced, shareOfAllowed),
      greatest(priced, ({ databaseMs, processMs }) => databaseMs + processMs),
      greatest(priced, ({ answerBytes }) => answerBytes),
    ]),
  ];
}

export function priceTable(priced: readonly Priced[]): string {
  const worst = greatest(priced, shareOfAllowed);
  return [
    `The worst that is accepted: ${worst.name}, ${figure(worst.databaseMs)} ms of the database where ${figure(allowedMs(worst))} ms are allowed (${ALLOWED_MS} ms and ${ALLOWED_MS_A_MIB} ms a MiB of the answer): \`${worst.operation(worst.size).slice(0, 240)}\``,
    table(
      [
        'operation',
        'size',
        'database, ms',
        'allowed',
        'keeps to it',
        'process, ms',
        'elapsed, ms',
        'answer, MiB',
      ],
      priced.map((one) => [
        one.name,
        `${one.size}`,
        figure(one.databaseMs),
        figure(allowedMs(one)),
        one.databaseMs <= allowedMs(one) ? 'yes' : 'no (!)',
        figure(one.processMs),
        figure(one.elapsedMs),
        figure(one.answerBytes / MIB),
      ]),
    ),
  ].join('\n\n');
}

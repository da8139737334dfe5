import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { postRequest } from '../harness/connection.ts';
import { once } from '../harness/load.ts';
import { peakBytes, resetPeak, residentBytes, spentMs, threadTimes } from '../harness/process-time.ts';
import type { ServerProcess } from '../harness/server-process.ts';
import type { Operation } from './operation.ts';
import { print } from './print.ts';

/** What one request costs while nothing else goes on. */
export interface Cost {
  readonly bytes: number;
  /** CPU time, in milliseconds. */
  readonly databaseMs: number;
  /** CPU time of all threads that are not the database's. */
  readonly nodeMs: number;
  readonly statements: number;
  /** What the process holds at most, beyond what it held before; what is free already when the request comes does not show. */
  readonly memoryBytes: number;
}

/** What an operation costs, and what the service takes it to cost. */
export interface Priced {
  readonly cost: Cost;
  readonly points: number;
}

/** A service with data to search on. */
export interface Searched {
  readonly server: ServerProcess;
  readonly key: string;
  /** CPU time of the database between two looks, in milliseconds; `process` is part of the process' own. */
  databaseMs(meanwhile: () => Promise<void>): Promise<{ readonly ms: number; readonly isOfProcess: boolean }>;
  /** Undoes what an operation has written. */
  restore(): Promise<void>;
}

/** What the process does after it has answered belongs to the request too: its log line, its event. */
const SETTLE_MS = 3;

const least = (a: Cost, b: Cost): Cost => ({
  bytes: Math.min(a.bytes, b.bytes),
  databaseMs: Math.min(a.databaseMs, b.databaseMs),
  nodeMs: Math.min(a.nodeMs, b.nodeMs),
  statements: Math.min(a.statements, b.statements),
  memoryBytes: Math.max(a.memoryBytes, b.memoryBytes),
});

/** Takes what operations cost. */
export class Scales {
  readonly #searched: Searched;
  #turn = 0;
  /** How many requests the service has had, those that it refused among them. */
  requests = 0;

  constructor(searched: Searched) {
    this.#searched = searched;
  }

  #request(operation: Operation, headers: Readonly<Record<string, string>> = {}): Buffer {
    this.#turn += 1;
    this.requests += 1;
    const key = operation.keyed ? { 'idempotency-key': randomUUID() } : {};
    const authorization = `Bearer ${this.#searched.key}`;
    return postRequest('/graphql', print(operation, this.#turn), { authorization, ...key, ...headers });
  }

  async #tidy({ kind }: Operation): Promise<void> {
    if (kind === 'mutation') await this.#searched.restore();
  }

  /** The points of an operation; undefined where the service refuses it or gives no data. */
  async points(operation: Operation): Promise<number | undefined> {
    const request = this.#request(operation, { 'x-query-cost': '1' });
    const { status, text } = await once(this.#searched.server.port, request);
    await this.#tidy(operation);
    if (status >= 500)
      throw new Error(`the service answers ${status} to ${JSON.stringify(print(operation, 0))}`);
    // Large answers need not be read in whole: what the operation costs stands at the end.
    const [, complexity] = /"complexity":(\d+)/.exec(text.slice(-300)) ?? [];
    return status !== 200 || complexity === undefined || text.startsWith('{"data":null')
      ? undefined
      : Number(complexity);
  }

  async #once(operation: Operation): Promise<Cost> {
    const { server } = this.#searched;
    const request = this.#request(operation);
    const { statements } = await server.usage();
    const before = threadTimes(server.pid);
    resetPeak(server.pid);
    const resident = residentBytes(server.pid);
    let bytes = 0;
    const { ms, isOfProcess } = await this.#searched.databaseMs(async () => {
      bytes = Buffer.byteLength((await once(server.port, request)).text);
      await delay(SETTLE_MS);
    });
    const processMs = spentMs(before, threadTimes(server.pid));
    const cost = {
      bytes,
      databaseMs: ms,
      nodeMs: processMs - (isOfProcess ? ms : 0),
      memoryBytes: peakBytes(server.pid) - resident,
      statements: (await server.usage()).statements - statements,
    };
    await this.#tidy(operation);
    return cost;
  }

  /** The least of a few of each: what else goes on can only add to it. Of memory the most: it is the process' own. */
  async weigh(operation: Operation, times: number, before?: Cost): Promise<Cost> {
    let cost = before;
    for (let time = 0; time < times; time += 1) {
      const next = await this.#once(operation);
      cost = cost === undefined ? next : least(cost, next);
    }
    if (cost === undefined) throw new Error('nothing was weighed');
    return cost;
  }
}

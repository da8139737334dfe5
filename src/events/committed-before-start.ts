/** A run of consecutive event numbers. */
export type Run = readonly [first: number, count: number];

/** The most runs in an event id. Events beyond them are delivered needlessly, but none is lost. */
const MAX_RUNS = 32;

/**
 * Events that were committed before a reader connected but become readable only later, because an older
 * transaction is still running. They lie after the reader's start position, but the reader must not get them.
 * Each is met once, in log order, so the remaining runs are the ones still ahead.
 */
export class CommittedBeforeStart {
  #runs: Run[];

  constructor(runs: readonly Run[]) {
    this.#runs = [...runs];
  }

  /** From the events' numbers in ascending order. */
  static of(ids: readonly number[]): CommittedBeforeStart {
    const runs: [number, number][] = [];
    for (const id of ids) {
      const last = runs.at(-1);
      if (last !== undefined && last[0] + last[1] === id) last[1] += 1;
      else if (runs.length === MAX_RUNS) break;
      else runs.push([id, 1]);
    }
    return new CommittedBeforeStart(runs);
  }

  get runs(): readonly Run[] {
    return this.#runs;
  }

  /** Whether the event is one of them. If so, removes it. */
  pass(id: number): boolean {
    const at = this.#runs.findIndex(([first, count]) => id >= first && id < first + count);
    const run = this.#runs[at];
    if (run === undefined) return false;
    const [first, count] = run;
    const rest: Run[] = [
      [first, id - first],
      [id + 1, first + count - id - 1],
    ];
    this.#runs.splice(at, 1, ...rest.filter(([, left]) => left > 0));
    return true;
  }
}

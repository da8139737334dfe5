/** Numbers that follow each other: the first, and how many. */
export type Run = readonly [first: number, count: number];

/** So many runs fit into an event id. Past them an event is delivered that could have been left out, never the reverse. */
const MAX_RUNS = 32;

/**
 * The events that were committed before a reader came, but that an older transaction, still running, keeps from being
 * read until later. They lie after the reader's start and are not for it. Each is met once, in the log's order: those
 * that are left are those still ahead.
 */
export class CommittedBeforeStart {
  #runs: Run[];

  constructor(runs: readonly Run[]) {
    this.#runs = [...runs];
  }

  /** From the events' numbers, smallest first. */
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

  /** Whether the event is one of them. It is then ahead no more. */
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

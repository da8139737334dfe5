import type { Parameter } from '../platform/db/statement.ts';

/** What a check found: whether the last use was stored recently; null if the credentials are not as remembered. */
export type Found = boolean | null;

/** How remembered credentials are checked. */
export interface Check {
  /** SQL of a scalar of type Found. It is given the numbers of its parameters, such as `$1`. */
  sql(...numbers: readonly string[]): string;
  /** The values of its parameters. */
  readonly values: readonly Parameter[];
  /** Finds the same by a statement of its own. Rejects with DatabaseError. */
  lookUp(): Promise<Found>;
  /** Called once, with whether the credentials were used: they are not by a request that is refused. */
  onFound(found: Found, used: boolean): void;
}

/**
 * A caller whom this instance remembers from an earlier request and takes to be the same still. Nothing may be changed
 * or told before that is confirmed: by the statement that reads the answer, or else by a look-up (decision 35).
 */
export class Provisional {
  readonly check: Check;
  #stands: boolean | undefined;
  #used = false;

  constructor(check: Check) {
    this.check = check;
  }

  /** Whether nobody has looked yet. */
  get isOpen(): boolean {
    return this.#stands === undefined;
  }

  readonly use = (): void => {
    this.#used = true;
  };

  /** Takes what a statement found. Returns whether the caller is confirmed. */
  settle(found: Found): boolean {
    if (this.#stands === undefined) {
      this.#stands = found !== null;
      this.check.onFound(found, this.#used);
    }
    return this.#stands;
  }

  /** Whether the caller is confirmed: by a look-up, if nobody has looked yet. Rejects with DatabaseError. */
  async confirm(): Promise<boolean> {
    return this.#stands ?? this.settle(await this.check.lookUp());
  }
}

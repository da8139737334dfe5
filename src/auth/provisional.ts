import type { Parameter } from '../platform/db/statement.ts';

/** What a check found: whether the last use was stored recently; null if the credentials are not as remembered. */
export type Found = boolean | null;

/** How remembered credentials are checked. */
export interface Check {
  /** Checks of a kind have the same SQL. */
  readonly kind: string;
  /** SQL of a scalar of type Found. It is given the numbers of its parameters, such as `$1`. */
  sql(...numbers: readonly string[]): string;
  /** The values of its parameters. */
  readonly values: readonly Parameter[];
  /** Finds the same by a statement of its own. Rejects with DatabaseError. */
  lookUp(): Promise<Found>;
  /** Called once, with whether the request was admitted, and so used the credentials. */
  onFound(found: Found, used: boolean): void;
}

/**
 * A caller whom this instance remembers from an earlier request, and assumes to be still valid. No operation may change
 * anything, and no answer may go out, before that is confirmed: by the statement that reads the answer, or else by a
 * look-up (decision 35).
 */
export class Provisional {
  readonly check: Check;
  #stands: boolean | undefined;
  #used = false;
  #looking: Promise<Found> | undefined;

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

  /** Takes what a statement found. Returns whether that confirms the caller, and nothing before it has refused them. */
  settle(found: Found): boolean {
    if (this.#stands === undefined) {
      this.#stands = found !== null;
      this.check.onFound(found, this.#used);
    }
    return this.#stands && found !== null;
  }

  /** Whether the caller is confirmed: by one look-up, if nobody has looked yet. Rejects with DatabaseError. */
  async confirm(): Promise<boolean> {
    if (this.#stands !== undefined) return this.#stands;
    this.#looking ??= this.check.lookUp();
    return this.settle(await this.#looking);
  }
}

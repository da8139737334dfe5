const DONE = 'done';
/** What a client is told to try again later (contract section 4). */
const LATER: ReadonlySet<number> = new Set([429, 503]);

interface Body {
  readonly errors?: readonly { readonly extensions?: { readonly code?: string } }[];
}

/** How often something was done, and how often it was answered otherwise, by status and code. */
export class Answers {
  readonly #counts = new Map<string, { readonly status: number; count: number }>();

  readonly add = (status: number, body: Buffer): void => {
    const { errors = [] } = JSON.parse(body.toString()) as Body;
    const name = status === 200 && errors.length === 0 ? DONE : `${status} ${errors[0]?.extensions?.code}`;
    const entry = this.#counts.get(name) ?? { status, count: 0 };
    entry.count += 1;
    this.#counts.set(name, entry);
  };

  get onlyDone(): boolean {
    return [...this.#counts.keys()].every((name) => name === DONE);
  }

  get onlyDoneOrToldToRetry(): boolean {
    return [...this.#counts].every(([name, { status }]) => name === DONE || LATER.has(status));
  }

  toString(): string {
    return [...this.#counts].map(([name, { count }]) => `${name}: ${count}`).join(', ');
  }
}

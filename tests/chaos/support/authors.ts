import { randomFrom } from './random.ts';
import { contentOf } from './selections.ts';
import { inTime } from './waiting.ts';
import { titleOf, type Written, writePosts } from './writers.ts';

const WRITERS_AN_ACCOUNT = 2;

export interface AuthorsOptions {
  readonly names: readonly string[];
  /** A key for each. */
  readonly keys: readonly string[];
  readonly origins: readonly string[];
  readonly seed: number;
}

/** Accounts that write posts, each with its own key, through keyed mutations. */
export class Authors {
  readonly #options: AuthorsOptions;
  readonly #random;
  /** All posts that are acknowledged, by their titles, and who wrote each. */
  readonly posts = new Map<string, Written>();
  readonly authors = new Map<string, string>();
  /** How many posts have been given to somebody to write. */
  #given = 0;
  retries = 0;

  constructor(options: AuthorsOptions) {
    this.#options = options;
    this.#random = randomFrom(options.seed);
  }

  /** Has each of them write so many posts. `onHalf` is called when half of all are acknowledged. */
  async write(each: number, onHalf = () => {}): Promise<void> {
    const { names } = this.#options;
    const total = each * names.length;
    const acknowledged = names.map(() => 0);
    const sum = () => acknowledged.reduce((so, far) => so + far, 0);
    let half = false;
    const writing = names.map((_, account) =>
      this.#writeAs(account, each, (count) => {
        acknowledged[account] = count;
        if (half || sum() < total / 2) return;
        half = true;
        onHalf();
      }),
    );
    await inTime(Promise.all(writing), () => `the acknowledgement of ${total - sum()} of ${total} posts`);
  }

  /** Writes a post that comes after all others in the event log. Returns its title. */
  async writeLast(): Promise<string> {
    const title = titleOf(this.#given);
    await inTime(
      this.#writeAs(0, 1, () => {}),
      () => `the acknowledgement of ${title}`,
    );
    return title;
  }

  async #writeAs(account: number, posts: number, onProgress: (acknowledged: number) => void): Promise<void> {
    const { names, keys, origins } = this.#options;
    const firstNumber = this.#given;
    this.#given += posts;
    const written = await writePosts({
      origins,
      key: keys[account] ?? '',
      random: this.#random,
      posts,
      firstNumber,
      writers: WRITERS_AN_ACCOUNT,
      contentOf,
      onProgress,
    });
    this.retries += written.retries;
    for (const [title, when] of written.posts) {
      this.posts.set(title, when);
      this.authors.set(title, names[account] ?? '');
    }
  }
}

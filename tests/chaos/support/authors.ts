import { seededRandom } from '../../support/random.ts';
import type { KnownPost, Ledger, Told } from './ledger.ts';
import { comment, liveOn, noteCreated, type WritingAccount } from './lives.ts';
import { contentOf } from './selections.ts';
import { inTime } from './waiting.ts';
import { fieldOf, type NewPost, Sender, titleOf, type WriteOptions, writePosts } from './writers.ts';

const WRITERS_AN_ACCOUNT = 2;

export interface AuthorsOptions {
  readonly accounts: readonly Omit<WritingAccount, 'pinned'>[];
  readonly origins: readonly string[];
  readonly ledger: Ledger;
}

/** Accounts that write posts, each with its own key, through keyed mutations, and change what they have written. */
export class Authors {
  readonly #options: AuthorsOptions;
  readonly accounts: WritingAccount[] = [];
  /** How many posts have been given to somebody to write. */
  #given = 0;
  retries = 0;

  /** How many changes are acknowledged. */
  get changes(): number {
    return this.#options.ledger.told.size;
  }

  constructor(options: AuthorsOptions) {
    this.#options = options;
  }

  /** Has each of them create its pinned post. */
  async begin(): Promise<void> {
    for (const account of this.#options.accounts) {
      const content = { title: `the pinned post of ${account.name}`, body: 'b', tags: [] };
      const { ids } = await new Sender(this.#senderOptions(account)).send([
        fieldOf('post', 'createPost', content),
      ]);
      const history = [{ ...content, version: 1, comments: [] }];
      const pinned: KnownPost = { id: ids.post ?? '', account, title: content.title, history };
      this.accounts.push({ ...account, pinned });
    }
  }

  /** Has each of them write so many posts. `onHalf` is called when half of all are acknowledged. */
  async write(each: number, onHalf = () => {}): Promise<void> {
    const { accounts } = this;
    const total = each * accounts.length;
    const acknowledged = accounts.map(() => 0);
    const sum = () => acknowledged.reduce((so, far) => so + far, 0);
    let half = false;
    const writing = accounts.map((account, index) => {
      const onProgress = (count: number) => {
        acknowledged[index] = count;
        if (half || sum() < total / 2) return;
        half = true;
        onHalf();
      };
      return this.#writeAs(account, each, onProgress, (posts, sender) =>
        liveOn(this.#options.ledger, account, posts, sender),
      );
    });
    await inTime(Promise.all(writing), () => `the acknowledgement of ${total - sum()} of ${total} posts`);
  }

  /** Has each of them write a post and a comment that come after all others in the event log. Returns these changes. */
  async writeLast(): Promise<readonly Told[]> {
    const { ledger } = this.#options;
    const told: Told[] = [];
    for (const account of this.accounts) {
      const title = titleOf(this.#given);
      const writing = this.#writeAs(account, 1, undefined, async (posts, sender) => {
        for (const post of posts) told.push(noteCreated(ledger, account, post));
        told.push(await comment(ledger, account, `after ${title}`, sender));
      });
      await inTime(writing, () => `the acknowledgement of ${title}`);
    }
    return told;
  }

  async #writeAs(
    account: WritingAccount,
    posts: number,
    onProgress: WriteOptions['onProgress'] = () => undefined,
    goOn: (posts: readonly NewPost[], sender: Sender) => Promise<void>,
  ): Promise<void> {
    const firstNumber = this.#given;
    this.#given += posts;
    const { retries } = await writePosts({
      ...this.#senderOptions(account),
      sizes: seededRandom(`crowd: sizes from post ${firstNumber}`),
      posts,
      firstNumber,
      writers: WRITERS_AN_ACCOUNT,
      contentOf,
      onProgress,
      goOn,
    });
    this.retries += retries;
  }

  #senderOptions({ key, name }: Pick<WritingAccount, 'key' | 'name'>) {
    const random = seededRandom(`crowd: attempts of ${name} before post ${this.#given}`);
    return { origins: this.#options.origins, key, random };
  }
}

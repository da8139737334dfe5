import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { endOfTest } from '../../support/processes/process.ts';
import type { Random } from '../../support/random.ts';

/** What a post says beside its title. */
export interface Content {
  readonly body: string;
  readonly tags: readonly string[];
}

/** When something was first asked for and when it was acknowledged, as numbers that grow. */
export interface Written {
  readonly asked: number;
  readonly acknowledged: number;
}

/** A mutation that is acknowledged: the id that each of its fields has answered with, where it has one. */
export interface Acknowledged extends Written {
  readonly ids: Readonly<Record<string, string>>;
}

export interface SenderOptions {
  readonly origins: readonly string[];
  readonly key: string;
  /** Draws the instances and the pauses between attempts. */
  readonly random: Random;
}

let moment = 0;
/** Numbers what happens in this process in its order. */
export function tick(): number {
  moment += 1;
  return moment;
}

const MAX_POSTS_A_MUTATION = 3;
const ATTEMPT_LIMIT_MS = 15_000;
const BACK_OFF_MS = 50;

interface GraphQLResponse {
  readonly data?: Readonly<Record<string, { readonly id: string } | boolean>> | null;
  readonly errors?: readonly { readonly message: string; readonly extensions: { readonly code: string } }[];
}

/** What trying again does not change. */
const WRITE_REJECTIONS = ['BAD_REQUEST', 'BAD_USER_INPUT', 'COMPLEXITY_LIMIT', 'FORBIDDEN', 'NOT_FOUND'];

/** Sends mutations, each with a key under which it tries again until it is told or the test ends. */
export class Sender {
  readonly #options: SenderOptions;
  readonly #ended = endOfTest();
  retries = 0;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  async send(fields: readonly string[]): Promise<Acknowledged> {
    const { random } = this.#options;
    const body = JSON.stringify({ query: `mutation { ${fields.join(' ')} }` });
    const idempotencyKey = randomUUID();
    const asked = tick();
    for (;;) {
      this.#ended.throwIfAborted();
      const { data, errors } = (await this.#attempt(body, idempotencyKey)) ?? {};
      const rejection = errors?.find(({ extensions }) => WRITE_REJECTIONS.includes(extensions.code));
      if (rejection !== undefined) throw new Error(`${rejection.message}: ${body}`);
      if (data != null && errors === undefined) {
        const ids = Object.entries(data).map(([field, value]) => [
          field,
          typeof value === 'boolean' ? '' : value.id,
        ]);
        return { asked, acknowledged: tick(), ids: Object.fromEntries(ids) };
      }
      this.retries += 1;
      await delay(random.below(BACK_OFF_MS));
    }
  }

  async #attempt(body: string, idempotencyKey: string): Promise<GraphQLResponse | undefined> {
    const { random, origins, key } = this.#options;
    try {
      const response = await fetch(`${random.pick(origins)}/graphql`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${key}`,
          'idempotency-key': idempotencyKey,
        },
        body,
        signal: AbortSignal.any([this.#ended, AbortSignal.timeout(ATTEMPT_LIMIT_MS)]),
      });
      return (await response.json()) as GraphQLResponse;
    } catch {
      // Killed while it answered, or not there: whether it committed is what the key finds out.
      return undefined;
    }
  }
}

/** A post that is acknowledged. */
export interface NewPost extends Written {
  readonly number: number;
  readonly id: string;
}

export interface WriteOptions extends SenderOptions {
  readonly posts: number;
  readonly firstNumber: number;
  readonly writers: number;
  /** Draws how many posts each mutation creates. */
  readonly sizes: Random;
  /** What the post of a number says; left out where that is all the same. */
  readonly contentOf?: (number: number) => Content;
  /** Called when the posts of a mutation are acknowledged, with how many there are in all. */
  readonly onProgress: (acknowledged: number) => void;
  /** Goes on with these posts. The writer waits for it. */
  readonly goOn?: (posts: readonly NewPost[], sender: Sender) => Promise<void>;
}

export interface Writing {
  readonly posts: ReadonlyMap<string, Written>;
  readonly retries: number;
}

const SHORT: Content = { body: 'b', tags: [] };

export const titleOf = (number: number) => `post ${number}`;

/** A field of a mutation, under an alias. */
export function fieldOf(alias: string, name: string, args: object, result = '{ id }'): string {
  const given = Object.entries(args).map(([arg, value]) => `${arg}: ${JSON.stringify(value)}`);
  return `${alias}: ${name}(${given.join(', ')}) ${result}`;
}

/** Has so many writers at once create posts, a few a mutation. */
export async function writePosts({
  posts,
  firstNumber,
  writers,
  sizes,
  contentOf = () => SHORT,
  onProgress,
  goOn,
  ...options
}: WriteOptions): Promise<Writing> {
  const sender = new Sender(options);
  const written = new Map<string, Written>();
  let given = 0;

  async function write(): Promise<void> {
    while (given < posts) {
      const count = Math.min(1 + sizes.below(MAX_POSTS_A_MUTATION), posts - given);
      const first = firstNumber + given;
      const numbers = Array.from({ length: count }, (_, index) => first + index);
      given += count;
      const { ids, ...when } = await sender.send(
        numbers.map((number) =>
          fieldOf(`p${number}`, 'createPost', { title: titleOf(number), ...contentOf(number) }),
        ),
      );
      for (const number of numbers) written.set(titleOf(number), when);
      onProgress(written.size);
      await goOn?.(
        numbers.map((number) => ({ number, id: ids[`p${number}`] ?? '', ...when })),
        sender,
      );
    }
  }

  await Promise.all(Array.from({ length: writers }, write));
  return { posts: written, retries: sender.retries };
}

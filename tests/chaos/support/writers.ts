import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from './random.ts';

/** What a post says beside its title. */
export interface Content {
  readonly body: string;
  readonly tags: readonly string[];
}

export interface WriteOptions {
  readonly origins: readonly string[];
  readonly key: string;
  readonly random: Random;
  readonly posts: number;
  readonly firstNumber: number;
  readonly writers: number;
  /** What the post of a number says; left out where that is all the same. */
  readonly contentOf?: (number: number) => Content;
  /** Called when the posts of a mutation are acknowledged, with how many there are in all. */
  readonly onProgress: (acknowledged: number) => void;
}

/** When a post was first asked for and when it was acknowledged, as numbers that grow. */
export interface Written {
  readonly asked: number;
  readonly acknowledged: number;
}

export interface Writing {
  readonly posts: ReadonlyMap<string, Written>;
  readonly retries: number;
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

const SHORT: Content = { body: 'b', tags: [] };

export const titleOf = (number: number) => `post ${number}`;

function mutation(posts: readonly (Content & { readonly title: string })[]): string {
  const fields = posts.map((post, index) => {
    const args = Object.entries(post).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
    return `p${index}: createPost(${args.join(', ')}) { id }`;
  });
  return JSON.stringify({ query: `mutation { ${fields.join(' ')} }` });
}

/** Has so many writers at once create posts, a few a mutation, each with a key under which it retries until it is told. */
export async function writePosts({
  origins,
  key,
  random,
  posts,
  firstNumber,
  writers,
  contentOf = () => SHORT,
  onProgress,
}: WriteOptions): Promise<Writing> {
  const written = new Map<string, Written>();
  let given = 0;
  let retries = 0;

  async function attempt(body: string, idempotencyKey: string): Promise<boolean> {
    try {
      const response = await fetch(`${random.pick(origins)}/graphql`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${key}`,
          'idempotency-key': idempotencyKey,
        },
        body,
        signal: AbortSignal.timeout(ATTEMPT_LIMIT_MS),
      });
      const { errors } = (await response.json()) as { errors?: unknown };
      return response.status === 200 && errors === undefined;
    } catch {
      // Killed while it answered, or not there: whether it committed is what the key finds out.
      return false;
    }
  }

  async function write(): Promise<void> {
    while (given < posts) {
      const count = Math.min(1 + random.below(MAX_POSTS_A_MUTATION), posts - given);
      const first = firstNumber + given;
      const numbers = Array.from({ length: count }, (_, index) => first + index);
      const titles = numbers.map(titleOf);
      given += count;
      const body = mutation(numbers.map((number) => ({ title: titleOf(number), ...contentOf(number) })));
      const idempotencyKey = randomUUID();
      const asked = tick();
      while (!(await attempt(body, idempotencyKey))) {
        retries += 1;
        await delay(random.below(BACK_OFF_MS));
      }
      const acknowledged = tick();
      for (const title of titles) written.set(title, { asked, acknowledged });
      onProgress(written.size);
    }
  }

  await Promise.all(Array.from({ length: writers }, write));
  return { posts: written, retries };
}

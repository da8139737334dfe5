import { type Draw, generator, pick } from '../harness/random.ts';

export interface Known {
  readonly userIds: readonly [string, ...string[]];
  readonly tags: readonly [string, ...string[]];
}

const SIZES = [1, 2, 3, 5, 7, 10, 15, 20, 25, 40, 50, 80, 100] as const;
const SMALL = [1, 2, 3, 5, 10] as const;
const OFFSETS = [0, 0, 0, 1, 20, 100, 500, 1_000, 2_500, 5_000, 10_000] as const;

/** Writes one query: lists, pages and connections of everything, up to four deep. */
class Writer {
  readonly #draw: Draw;
  readonly #known: Known;

  constructor(draw: Draw, known: Known) {
    this.#draw = draw;
    this.#known = known;
  }

  #some(items: readonly string[]): string[] {
    const chosen = items.filter(() => this.#draw(2) > 0);
    return chosen.length > 0 ? chosen : [...items.slice(0, 1)];
  }

  #size(depth: number): number {
    return depth === 0 ? pick(this.#draw, SIZES) : pick(this.#draw, SMALL);
  }

  #list(name: string, selection: string, depth: number, filters = ''): string {
    const size = this.#size(depth);
    if (this.#draw(3) > 0) return `${name}(limit: ${size}${filters}) ${selection}`;
    const nodes = this.#draw(1) === 0 ? `nodes ${selection}` : `edges { cursor node ${selection} }`;
    return `${name}Connection(first: ${size}${filters}) { ${nodes} pageInfo { hasNextPage endCursor } }`;
  }

  #user(depth: number): string {
    const fields = this.#some(['name', 'id', 'createdAt']);
    if (depth < 3 && this.#draw(2) === 0) fields.push(this.#list('posts', this.#post(depth + 1), depth + 1));
    return `{ ${fields.join(' ')} }`;
  }

  #post(depth: number): string {
    const fields = this.#some(['title', 'id', 'body', 'commentCount', 'createdAt', 'tags']);
    if (depth < 3 && this.#draw(2) === 0) fields.push(`author ${this.#user(depth + 1)}`);
    if (depth < 3 && this.#draw(2) === 0)
      fields.push(this.#list('comments', this.#comment(depth + 1), depth + 1));
    return `{ ${fields.join(' ')} }`;
  }

  #comment(depth: number): string {
    const fields = this.#some(['body', 'id', 'createdAt']);
    if (depth < 3 && this.#draw(1) === 0) fields.push(`author ${this.#user(depth + 1)}`);
    return `{ ${fields.join(' ')} }`;
  }

  #root(): string {
    const { userIds, tags } = this.#known;
    const size = this.#size(0);
    const offset = pick(this.#draw, OFFSETS);
    const filters = offset === 0 ? '' : `, offset: ${offset}`;
    switch (this.#draw(6)) {
      case 0:
        return `user(id: "${pick(this.#draw, userIds)}") ${this.#user(0)}`;
      case 1:
        return `users(limit: ${size}${filters}) ${this.#user(0)}`;
      case 2:
        return this.#list('posts', this.#post(0), 0, `, tag: "${pick(this.#draw, tags)}"`);
      case 3:
        return `posts(limit: ${size}, tag: "${pick(this.#draw, tags)}"${filters}) ${this.#post(0)}`;
      case 4:
        return this.#list('users', this.#user(0), 0);
      default:
        return `posts(limit: ${size}${filters}) ${this.#post(0)}`;
    }
  }

  query(): string {
    const roots = 1 + (this.#draw(3) === 0 ? this.#draw(3) : 0);
    return `{ ${Array.from({ length: roots }, (_, index) => `r${index}: ${this.#root()}`).join(' ')} }`;
  }
}

/** Random queries without an end, always the same ones. */
export function* randomQueries(known: Known, seed = 1): Generator<string> {
  const writer = new Writer(generator(seed), known);
  for (;;) yield writer.query();
}

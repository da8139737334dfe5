import type { Written } from './writers.ts';

/** What a client has got, and when it was connected. */
export interface Account {
  readonly titles: readonly string[];
  readonly complaints: readonly string[];
  /** The moment before it first connected, and the one when its first stream was open. */
  readonly connecting: number;
  readonly connected: number;
}

export interface Evidence {
  readonly clients: readonly Account[];
  readonly posts: ReadonlyMap<string, Written>;
  /** The titles of all posts that the database has. */
  readonly stored: readonly string[];
}

const some = (items: readonly string[]) =>
  `${items.slice(0, 5).join(', ')}${items.length > 5 ? ', …' : ''} (${items.length})`;

/** The one order that all lists agree with, if there is one: each list is in the order of the longest. */
function disorder(lists: readonly (readonly string[])[]): string[] {
  const longest = lists.toSorted((a, b) => b.length - a.length)[0] ?? [];
  const place = new Map(longest.map((title, index) => [title, index]));
  return lists.flatMap((list, client) => {
    const wrong = list.findIndex(
      (title, index) => index > 0 && (place.get(title) ?? 0) <= (place.get(list[index - 1] ?? '') ?? -1),
    );
    return wrong === -1 ? [] : [`client ${client} has "${list[wrong]}" out of the common order`];
  });
}

/** Everything that is wrong, in words; empty where each client has exactly the posts committed since it connected, in one order. */
export function findProblems({ clients, posts, stored }: Evidence): string[] {
  const problems: string[] = [];
  const made = new Set(posts.keys());
  const twice = stored.length - new Set(stored).size;
  if (twice > 0) problems.push(`${twice} posts were stored twice`);
  const unstored = [...made].filter((title) => !stored.includes(title));
  if (unstored.length > 0) problems.push(`acknowledged and not stored: ${some(unstored)}`);
  clients.forEach(({ titles, complaints, connecting, connected }, client) => {
    const got = new Set(titles);
    const missing: string[] = [];
    const early: string[] = [];
    for (const [title, { asked, acknowledged }] of posts) {
      if (asked > connected && !got.has(title)) missing.push(title);
      if (acknowledged < connecting && got.has(title)) early.push(title);
    }
    const foreign = titles.filter((title) => !made.has(title));
    const say = (what: string, items: readonly string[]) => {
      if (items.length > 0) problems.push(`client ${client} ${what}: ${some(items)}`);
    };
    say('misses', missing);
    say('has from before it connected', early);
    say('has what was never acknowledged', foreign);
    say('was told', complaints);
    if (got.size < titles.length)
      problems.push(`client ${client} has ${titles.length - got.size} events twice`);
  });
  return [...problems, ...disorder(clients.map(({ titles }) => titles))];
}

import type { Due } from './selections.ts';
import type { Written } from './writers.ts';

/** What a client has got, and when it was connected. */
export interface Account {
  /** What to call it; left out where its number will do. */
  readonly name?: string;
  /** Of posts, or the names of other changes. */
  readonly titles: readonly string[];
  readonly complaints: readonly string[];
  /** The moment before it first connected, and the one when its first stream was open. */
  readonly connecting: number;
  readonly connected: number;
  /** Whether it must have what was made since it connected; left out where it must have all. */
  readonly due?: (title: string) => Due;
}

export interface Evidence {
  readonly clients: readonly Account[];
  readonly posts: ReadonlyMap<string, Written>;
  /** The titles of all posts that the database has, or the names of all changes. */
  readonly stored: readonly string[];
  /** Whether they are in the order of the event log. */
  readonly storedInOrder?: boolean;
}

const some = (items: readonly string[]) =>
  `${items.slice(0, 5).join(', ')}${items.length > 5 ? ', …' : ''} (${items.length})`;

const nameOf = ({ name }: Account, client: number) => name ?? `client ${client}`;

/** Who has what is not in an order. Without one: is there one that all agree with? Then it is that of the longest list. */
function disorder(clients: readonly Account[], order: readonly string[] | undefined): string[] {
  const longest = clients.toSorted((a, b) => b.titles.length - a.titles.length)[0]?.titles ?? [];
  const place = new Map((order ?? longest).map((title, index) => [title, index]));
  return clients.flatMap((client, number) => {
    const list = client.titles;
    const wrong = list.findIndex(
      (title, index) => index > 0 && (place.get(title) ?? 0) <= (place.get(list[index - 1] ?? '') ?? -1),
    );
    return wrong === -1 ? [] : [`${nameOf(client, number)} has "${list[wrong]}" out of the common order`];
  });
}

/** Everything that is wrong, in words; empty where each client has exactly what was committed since it connected, in one order. */
export function findProblems({ clients, posts, stored, storedInOrder = false }: Evidence): string[] {
  const problems: string[] = [];
  const made = new Set(posts.keys());
  const twice = stored.length - new Set(stored).size;
  if (twice > 0) problems.push(`${twice} were stored twice`);
  const known = new Set(stored);
  const unstored = [...made].filter((title) => !known.has(title));
  if (unstored.length > 0) problems.push(`acknowledged and not stored: ${some(unstored)}`);
  clients.forEach((client, number) => {
    const { titles, complaints, connecting, connected, due = () => 'always' } = client;
    const name = nameOf(client, number);
    const got = new Set(titles);
    const missing: string[] = [];
    const early: string[] = [];
    for (const [title, { asked, acknowledged }] of posts) {
      if (asked > connected && !got.has(title) && due(title) === 'always') missing.push(title);
      if (acknowledged < connecting && got.has(title)) early.push(title);
    }
    const foreign = titles.filter((title) => !made.has(title));
    const unasked = titles.filter((title) => made.has(title) && due(title) === 'never');
    const say = (what: string, items: readonly string[]) => {
      if (items.length > 0) problems.push(`${name} ${what}: ${some(items)}`);
    };
    say('misses', missing);
    say('has from before it connected', early);
    say('has what was never acknowledged', foreign);
    say('has what it did not ask for', unasked);
    say('was told', complaints);
    if (got.size < titles.length) problems.push(`${name} has ${titles.length - got.size} events twice`);
  });
  return [...problems, ...disorder(clients, storedInOrder ? stored : undefined)];
}

/** How the items of a list are told apart and sorted. */
export interface ListOrder<Item> {
  readonly key: (item: Item) => string;
  /** As for `sort`. */
  readonly order: (one: Item, other: Item) => number;
}

/** What a change does to a list: null if the item does not exist or no longer belongs to the list. */
export interface ItemChange<Item> {
  readonly key: string;
  readonly item: Item | null;
}

function readMember(item: object, name: string): string {
  const value: unknown = Reflect.get(item, name);
  return typeof value === 'string' ? value : '';
}

/** The `id` of an item. */
export const readId = (item: object): string => readMember(item, 'id');

/** Sorts by `createdAt`, then `id`, newest first, as the service sorts posts. */
export function compareNewestFirst(one: object, other: object): number {
  const [first, second] = [one, other].map((item) => readMember(item, 'createdAt') + readId(item));
  return first === second ? 0 : (first ?? '') < (second ?? '') ? 1 : -1;
}

/** Sorts by `createdAt`, then `id`, oldest first, as the service sorts the comments on a post. */
export const compareOldestFirst = (one: object, other: object): number => compareNewestFirst(other, one);

/**
 * Applies a change to the items of a list.
 * @param bound the last item that was read, if there are more: an item after it belongs to a later page
 */
export function applyItemChange<Item>(
  items: readonly Item[],
  { key, item }: ItemChange<Item>,
  order: ListOrder<Item>,
  bound: Item | undefined,
): readonly Item[] {
  const others = items.filter((other) => order.key(other) !== key);
  if (item === null) return others;
  const wasListed = others.length < items.length;
  const isWithin = bound === undefined || order.order(item, bound) <= 0;
  return wasListed || isWithin ? [...others, item].sort(order.order) : others;
}

/** A page of a list, and the cursor of the next page, which is null after the last page. */
export interface ListPage<Item> {
  readonly items: readonly Item[];
  readonly more: string | null;
}

/** A connection of the schema, as far as a list needs it. */
export interface Connection<Item> {
  readonly nodes: readonly Item[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor?: string | null | undefined };
}

/**
 * Reads the page of a connection that selects `nodes` and `pageInfo { hasNextPage endCursor }`.
 * @param connection null or undefined for an object that does not exist: its list is empty
 */
export function readConnection<Item>(connection: Connection<Item> | null | undefined): ListPage<Item> {
  const { nodes = [], pageInfo } = connection ?? {};
  return { items: nodes, more: pageInfo?.hasNextPage === true ? (pageInfo.endCursor ?? null) : null };
}

import type { InfiniteData } from '@tanstack/react-query';

export interface Item {
  readonly id: string;
  readonly createdAt: string;
}

/** A page of a list, newest first. */
export interface Page<Of extends Item> {
  readonly items: readonly Of[];
  /** The cursor of the next page; null after the last. */
  readonly more: string | null;
}

export type Pages<Of extends Item> = InfiniteData<Page<Of>, string | null>;

/** As for `sort`: newest first. The ids of one millisecond are in order too. */
export function byAge(one: Item, other: Item): number {
  return one.createdAt + one.id < other.createdAt + other.id ? 1 : -1;
}

/** The pages with an item as it is now, or without it if it is null. Doing so twice does no harm. */
export function withItem<Of extends Item>(list: Pages<Of>, id: string, item: Of | null): Pages<Of> {
  const isKnown = list.pages.some(({ items }) => items.some((one) => one.id === id));
  if (item === null || isKnown) {
    const now = item === null ? [] : [item];
    const pages = list.pages.map((page) => ({
      ...page,
      items: page.items.flatMap((one) => (one.id === id ? now : [one])),
    }));
    return { ...list, pages };
  }
  // What is older than all that was read belongs to a later page.
  const place = list.pages.findIndex(
    ({ items, more }) => more === null || items.some((one) => byAge(item, one) < 0),
  );
  const pages = list.pages.map((page, index) =>
    index === place ? { ...page, items: [...page.items, item].sort(byAge) } : page,
  );
  return { ...list, pages };
}

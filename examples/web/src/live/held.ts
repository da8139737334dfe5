interface Item {
  readonly id: string;
}

/**
 * Which items of a list are shown, by their keys. New ones wait until they may be, so that nothing moves under a reader. What stands
 * below all that was known is a further page, and is shown at once; so is a list that has nothing of the one before.
 */
export function createHeld<Of extends Item>(keyOf: (item: Of) => string = ({ id }) => id) {
  let known = new Set<string>();
  let waiting = new Set<string>();
  let items: readonly Of[] = [];

  return {
    get shown(): readonly Of[] {
      return items.filter((item) => !waiting.has(keyOf(item)));
    },
    get waiting(): readonly Of[] {
      return items.filter((item) => waiting.has(keyOf(item)));
    },
    /** Takes the list as it is now. Returns the items that have come to wait. */
    take(next: readonly Of[]): readonly Of[] {
      const keys = next.map(keyOf);
      const last = keys.findLastIndex((key) => known.has(key) && !waiting.has(key));
      const news = next.slice(0, Math.max(0, last)).filter((item) => !known.has(keyOf(item)));
      items = next;
      known = new Set(keys);
      waiting = new Set([...waiting, ...news.map(keyOf)].filter((key) => known.has(key)));
      if (last === -1) waiting.clear();
      return news;
    },
    show(): void {
      waiting.clear();
    },
  };
}

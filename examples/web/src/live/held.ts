interface Item {
  readonly id: string;
}

/**
 * Which items of a list are shown. New ones wait until they may be, so that nothing moves under a reader. What stands
 * below all that was known is a further page, and is shown at once; so is a list that has nothing of the one before.
 */
export function createHeld<Of extends Item>() {
  let known = new Set<string>();
  let waiting = new Set<string>();
  let items: readonly Of[] = [];

  return {
    get shown(): readonly Of[] {
      return items.filter(({ id }) => !waiting.has(id));
    },
    get waiting(): readonly Of[] {
      return items.filter(({ id }) => waiting.has(id));
    },
    /** Takes the list as it is now. Returns the items that have come to wait. */
    take(next: readonly Of[]): readonly Of[] {
      const last = next.findLastIndex(({ id }) => known.has(id) && !waiting.has(id));
      const news = next.slice(0, Math.max(0, last)).filter(({ id }) => !known.has(id));
      items = next;
      known = new Set(next.map(({ id }) => id));
      waiting = new Set([...waiting, ...news.map(({ id }) => id)].filter((id) => known.has(id)));
      if (last === -1) waiting.clear();
      return news;
    },
    show(): void {
      waiting.clear();
    },
  };
}

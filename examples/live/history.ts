/** `after` is the id of the event before it, or of the place where the stream began. `data` is JSON. */
export interface LiveEvent {
  readonly after: string;
  readonly id: string;
  readonly data: string;
}

/** What a tab keeps to recognise repeated and missing events, and to serve other tabs. */
const KEPT_EVENTS = 500;
const KEPT_CHARACTERS = 4_000_000;

/** The events that a tab got last. */
export function createHistory() {
  let position: string | undefined;
  let kept: LiveEvent[] = [];
  let characters = 0;
  const knows = (id: string) =>
    id === position || kept.some((event) => event.id === id || event.after === id);
  return {
    knows,
    position: () => position,
    /** Ids are opaque: only the chain of `after` and `id` shows whether an event is the next one. */
    add(event: LiveEvent): 'added' | 'repeated' | 'out of reach' {
      if (event.after !== position) {
        if (knows(event.id)) return 'repeated';
        // This tab is ahead of the stream, and the events between were deleted meanwhile.
        if (!knows(event.after)) return 'out of reach';
      }
      position = event.id;
      kept.push(event);
      characters += event.data.length;
      while (kept.length > KEPT_EVENTS || (characters > KEPT_CHARACTERS && kept.length > 1))
        characters -= kept.shift()?.data.length ?? 0;
      return 'added';
    },
    /** The events after an id. Undefined if they are no longer known. */
    since(id: string): readonly LiveEvent[] | undefined {
      if (id === position) return [];
      const start = kept.findIndex((event) => event.after === id);
      return start === -1 ? undefined : kept.slice(start);
    },
    startAt(id: string) {
      position = id;
      kept = [];
      characters = 0;
    },
  };
}

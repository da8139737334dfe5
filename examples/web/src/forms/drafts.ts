import type { IntentStorage } from 'content-graph-client';

type Values = Readonly<Record<string, string>>;

/** What a person has typed. */
export interface Draft {
  readonly values: Values;
  /** What it began from, if it changes something. */
  readonly basis?: Basis;
}

/** What a person has read before changing it. */
export interface Basis {
  readonly version: number;
  readonly values: Values;
}

/**
 * Drafts of one person in one tab. They survive a reload, as the intents of the client do in the same storage. Nobody
 * else who signs in in this tab sees them.
 */
export function openDrafts(userId: string) {
  const prefix = `${userId} `;
  let isCleared = false;
  const storage: IntentStorage = {
    getItem: (name) => sessionStorage.getItem(prefix + name),
    setItem(name, value) {
      // By a form whose mutation has ended with the session.
      if (!isCleared) sessionStorage.setItem(prefix + name, value);
    },
    removeItem: (name) => sessionStorage.removeItem(prefix + name),
  };
  const names = (beginning: string) =>
    Object.keys(sessionStorage)
      .filter((name) => name.startsWith(prefix + beginning))
      .map((name) => name.slice(prefix.length));
  return {
    storage,
    read(name: string): Draft | undefined {
      const text = storage.getItem(`draft ${name}`);
      return text === null ? undefined : JSON.parse(text);
    },
    /** The names that begin so. */
    names: (beginning: string): readonly string[] =>
      names(`draft ${beginning}`).map((name) => name.slice('draft '.length)),
    write: (name: string, draft: Draft) => storage.setItem(`draft ${name}`, JSON.stringify(draft)),
    remove: (name: string) => storage.removeItem(`draft ${name}`),
    /** For good: the next session has drafts of its own. */
    clear(): void {
      isCleared = true;
      for (const name of names('')) storage.removeItem(name);
    },
  };
}

export type Drafts = ReturnType<typeof openDrafts>;

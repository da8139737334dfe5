import type { IntentStorage } from 'content-graph-client';

type Values = Readonly<Record<string, string>>;

/** What a person has typed. */
export interface Unsaved {
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
 * The unsaved forms of one user in one tab. They survive a reload, because they are in the session storage, like the intents of the
 * client. Another user who signs in in this tab does not see them.
 */
export function openUnsaved(userId: string) {
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
    read(name: string): Unsaved | undefined {
      const text = storage.getItem(`unsaved ${name}`);
      return text === null ? undefined : JSON.parse(text);
    },
    /** The names that begin so. */
    names: (beginning: string): readonly string[] =>
      names(`unsaved ${beginning}`).map((name) => name.slice('unsaved '.length)),
    write: (name: string, text: Unsaved) => storage.setItem(`unsaved ${name}`, JSON.stringify(text)),
    remove: (name: string) => storage.removeItem(`unsaved ${name}`),
    /** For good: the next session begins without them. */
    clear(): void {
      isCleared = true;
      for (const name of names('')) storage.removeItem(name);
    },
  };
}

export type UnsavedTexts = ReturnType<typeof openUnsaved>;

/** What a person has typed, and the key under which it was sent. */
export interface Draft {
  readonly values: Readonly<Record<string, string>>;
  /** What it began from, if it changes something. */
  readonly basis?: Basis;
  readonly key?: string;
  /** The values that were sent under the key. */
  readonly sent?: string;
}

/** What a person has read before changing it. */
export interface Basis {
  readonly version: number;
  readonly values: Readonly<Record<string, string>>;
}

/**
 * Drafts of one person in one tab. They survive a reload, so that the text is kept and a retry has the same key. Nobody
 * else who signs in in this tab sees them.
 */
export function draftsOf(userId: string) {
  const prefix = `draft ${userId} `;
  let isCleared = false;
  return {
    read(name: string): Draft | undefined {
      const text = sessionStorage.getItem(prefix + name);
      return text === null ? undefined : JSON.parse(text);
    },
    /** The names that begin so. */
    names: (beginning: string): readonly string[] =>
      Object.keys(sessionStorage)
        .filter((name) => name.startsWith(prefix + beginning))
        .map((name) => name.slice(prefix.length)),
    write(name: string, draft: Draft): void {
      // By a form whose mutation has ended with the session.
      if (isCleared) return;
      sessionStorage.setItem(prefix + name, JSON.stringify(draft));
    },
    remove(name: string): void {
      sessionStorage.removeItem(prefix + name);
    },
    /** For good: the next session has drafts of its own. */
    clear(): void {
      isCleared = true;
      for (const name of Object.keys(sessionStorage))
        if (name.startsWith(prefix)) sessionStorage.removeItem(name);
    },
  };
}

export type Drafts = ReturnType<typeof draftsOf>;

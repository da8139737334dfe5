export interface Text {
  readonly title: string;
  readonly body: string;
}

const FIELDS = ['title', 'body'] as const;

/** The fields that were changed from `base`, on either side, to different texts: a person decides about these. */
export function conflictsOf(base: Text, mine: Text, theirs: Text): readonly (keyof Text)[] {
  return FIELDS.filter(
    (field) => mine[field] !== base[field] && theirs[field] !== base[field] && mine[field] !== theirs[field],
  );
}

/** What is mine where I have changed it, and what is theirs elsewhere. */
export function merged(base: Text, mine: Text, theirs: Text): Text {
  const of = (field: keyof Text) => (mine[field] === base[field] ? theirs[field] : mine[field]);
  return { title: of('title'), body: of('body') };
}

/** The fields that differ. The others are not sent, so that nobody's edit of them is undone. */
export function changedFields(base: Text, mine: Text): Partial<Text> {
  return Object.fromEntries(
    FIELDS.filter((field) => mine[field] !== base[field]).map((field) => [field, mine[field]]),
  );
}

export interface Text {
  readonly title: string;
  readonly body: string;
}

const FIELDS = ['title', 'body'] as const;

/** Finds the fields that both sides changed from `base` to different strings. A person decides about them. */
export function findConflicts(base: Text, mine: Text, theirs: Text): readonly (keyof Text)[] {
  return FIELDS.filter(
    (field) => mine[field] !== base[field] && theirs[field] !== base[field] && mine[field] !== theirs[field],
  );
}

/** Takes the fields that I changed from `mine`, and the others from `theirs`. */
export function mergeFields(base: Text, mine: Text, theirs: Text): Text {
  const of = (field: keyof Text) => (mine[field] === base[field] ? theirs[field] : mine[field]);
  return { title: of('title'), body: of('body') };
}

/** Finds the changed fields. The others are not sent, so that edits by others stay. */
export function findChangedFields(base: Text, mine: Text): Partial<Text> {
  return Object.fromEntries(
    FIELDS.filter((field) => mine[field] !== base[field]).map((field) => [field, mine[field]]),
  );
}

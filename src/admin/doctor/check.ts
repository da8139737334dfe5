/** What one look has found. */
export interface Check {
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'error';
  readonly seen: string;
  /** What to do; null where nothing is. */
  readonly todo: string | null;
}

export const ok = (check: string, seen: string): Check => ({ check, status: 'ok', seen, todo: null });
export const warning = (check: string, seen: string, todo: string): Check => ({
  check,
  status: 'warning',
  seen,
  todo,
});
export const failed = (check: string, seen: string, todo: string): Check => ({
  check,
  status: 'error',
  seen,
  todo,
});

/** What an error says, on one line. */
export const reasonOf = (error: unknown): string =>
  (error instanceof AggregateError && error.errors.length > 0
    ? reasonOf(error.errors[0])
    : error instanceof Error
      ? error.message || error.name
      : String(error)
  ).replaceAll(/\s*\n\s*/g, ' ');

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

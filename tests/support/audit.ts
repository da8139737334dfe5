import { expect } from 'vitest';
import { adminCommand } from './admin-command.ts';
import type { TestApp } from './app.ts';

/** An entry of the audit log, as `admin audit list` prints it. */
export interface Entry {
  readonly at: string;
  readonly actor: string | null;
  readonly via: string;
  readonly action: string;
  readonly subject: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
  readonly requestId: string | null;
}

/** What `admin audit list` prints with these options. */
export async function entries(app: TestApp, ...options: readonly string[]): Promise<Entry[]> {
  const { json, failure } = await adminCommand(app, ['audit', 'list', ...options]);
  expect(failure).toBeUndefined();
  return json;
}

/** The actions of what `admin audit list` prints with these options. */
export const actions = async (app: TestApp, ...options: readonly string[]): Promise<string[]> =>
  (await entries(app, ...options)).map(({ action }) => action);

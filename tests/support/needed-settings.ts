import type { TestProject } from 'vitest/node';

const NEEDED = {
  DATABASE_URL:
    'a PostgreSQL (15 or later) where databases may be created, such as postgres://postgres@127.0.0.1:5432/postgres',
  REDIS_URL: 'a Redis that the tests may write to, such as redis://127.0.0.1:6379',
};

export type NeededSetting = keyof typeof NEEDED;

declare module 'vitest' {
  export interface ProvidedContext {
    /** What a suite cannot do without. */
    needs: readonly NeededSetting[];
  }
}

export function setup(project: TestProject): void {
  for (const name of project.getProvidedContext().needs)
    if (!process.env[name])
      throw new Error(`Set ${name} to ${NEEDED[name]}: tests/${project.name} needs it.`);
}

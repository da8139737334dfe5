import { defineConfig, mergeConfig } from 'vitest/config';
import base from './vitest.base.config.ts';

/** What only PostgreSQL can show needs one: `npm run test:postgres`. */
const folders = process.env.DATABASE_URL === undefined ? 'unit,api,contract' : 'api,postgres';
/** They add types to the schema, and all schemas of a process are built from the same types. */
const ADDS_TYPES = ['tests/api/content/added-type.test.ts', 'tests/api/node/node-without-source.test.ts'];

export default mergeConfig(
  base,
  defineConfig({
    test: {
      projects: [
        {
          extends: true,
          test: {
            name: 'shared',
            include: [`tests/{${folders}}/**/*.test.ts`],
            exclude: ADDS_TYPES,
            // The next file in a worker finds its modules loaded: a third less CPU.
            isolate: false,
          },
        },
        { extends: true, test: { name: 'adds types', include: ADDS_TYPES } },
      ],
    },
  }),
);

/**
 * Runs a program of the project on a Node that is new enough and with a current Prisma client, as the npm scripts do:
 * `node scripts/run.cjs src/main.ts`, or that of an installed package: `node scripts/run.cjs vitest run`. Plain
 * JavaScript for any Node.
 */
require('./require-node.cjs');
require('./run.ts').run();

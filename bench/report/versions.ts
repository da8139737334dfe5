import { readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';

const PEERS = [
  'fastify',
  '@fastify/compress',
  '@fastify/cors',
  'mercurius',
  'graphql-jit',
  'postgraphile',
  'grafast',
  'graphql',
  'pg',
  'pino',
  'prom-client',
];
const OWN = ['graphql-yoga', '@pothos/core', '@prisma/client', 'graphql', 'pg'];

function versionOf(name: string, folder: string): string {
  const file = new URL(`${folder}/node_modules/${name}/package.json`, import.meta.url);
  return `${name} ${(JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version}`;
}

/** What the figures were made with, as lines of a list. */
export function versions(postgresVersion: string, postgresSettings: string): string {
  return [
    `- Node ${process.version}, PostgreSQL ${postgresVersion} (${postgresSettings}), ${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'})`,
    `- product: ${OWN.map((name) => versionOf(name, '../..')).join(', ')}`,
    `- peers: ${PEERS.map((name) => versionOf(name, '..')).join(', ')}`,
  ].join('\n');
}

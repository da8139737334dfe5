import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const SOURCE = join(import.meta.dirname, '../../../src');

/** Lines that hold SQL. Its words are in capitals here. */
const SQL = /\b(?:SELECT|FROM|JOIN|WHERE|AS|WITH|LATERAL|RETURNING|VALUES)\b/;
const COMMENT = /^\s*(?:\/\/|\/?\*)/;

/** What may stand in SQL as a name. Words in capitals are its own. */
const NAME = /\b[a-z_]\w{0,30}\b/g;

function sourceFiles(): readonly string[] {
  return readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.startsWith('generated'))
    .sort()
    .map((path) => readFileSync(join(SOURCE, path), 'utf8'));
}

function wordsOf(text: string): readonly string[] {
  const lines = text.split('\n').filter((line) => SQL.test(line) && !COMMENT.test(line));
  return lines.flatMap((line) => line.match(NAME) ?? []);
}

/**
 * The words beside SQL in the service's source: columns and aliases as they are now, whatever they come to be called. A
 * name of a client's must not be taken for one of them.
 */
export const SQL_WORDS: readonly string[] = [...new Set(sourceFiles().flatMap(wordsOf))].sort();

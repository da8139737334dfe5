import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { admin, type ClusterSettings } from './instances.ts';

const ENTRY = 'src/admin/main.ts ';

/**
 * Applies the migrations of a checkout. The command is `migrate` before 2.0.0 and `database migrate` since then. The script
 * `db:migrate` of every version has the words of its own command.
 * @returns what the command prints
 */
export async function migrateCheckout(checkout: string, settings: ClusterSettings): Promise<string> {
  const { scripts } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as {
    scripts: Readonly<Record<string, string>>;
  };
  const [, words] = (scripts['db:migrate'] ?? '').split(ENTRY);
  if (words === undefined) throw new Error(`${checkout}/package.json has no script "db:migrate"`);
  return admin(checkout, settings, ...words.split(' '));
}

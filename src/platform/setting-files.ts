import { FILE_SETTINGS } from './setting-table.ts';
import { NotTextError, readText } from './text-file.ts';

/** What the settings `NAME_FILE` give. */
export interface FileValues {
  /** By the name of the setting, without `_FILE`. */
  readonly values: Readonly<Record<string, string>>;
  /** One sentence per mistake. */
  readonly problems: readonly string[];
  /** The settings that the mistakes are about. */
  readonly broken: readonly string[];
}

/** The content of a file without its last line break, or what is wrong with it. */
function contentOf(path: string): { readonly value: string } | { readonly problem: string } {
  try {
    const value = readText(path).replace(/\r?\n$/, '');
    return value === '' ? { problem: 'is empty' } : { value };
  } catch (error) {
    if (error instanceof NotTextError) return { problem: error.message };
    const { code } = error as NodeJS.ErrnoException;
    return { problem: code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})` };
  }
}

/**
 * Reads the secrets that `environment` names as files: orchestrators mount them so, and environments leak more
 * easily. Never throws.
 */
export function valuesFromFiles(environment: NodeJS.ProcessEnv): FileValues {
  const values: Record<string, string> = {};
  const problems: string[] = [];
  const broken: string[] = [];
  for (const name of FILE_SETTINGS) {
    const setting = `${name}_FILE`;
    const path = environment[setting];
    if (!path) continue;
    const content = environment[name] ? { problem: undefined } : contentOf(path);
    if ('value' in content) {
      values[name] = content.value;
      continue;
    }
    broken.push(name);
    problems.push(
      content.problem === undefined
        ? `${name} and ${setting} are both set: remove one of them.`
        : `${setting} names the file "${path}", which ${content.problem}: it must hold the value of ${name}.`,
    );
  }
  return { values, problems, broken };
}

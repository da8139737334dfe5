import { join } from 'node:path';
import {
  isPropertyAssignment,
  isShorthandPropertyAssignment,
  type Node,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { API } from 'typescript/unstable/sync';
import { afterAll, describe, expect, it } from 'vitest';
import { SETTING_NAMES } from '../../src/platform/config/setting-table.ts';

const ROOT = join(import.meta.dirname, '../..');
const TABLE = 'src/platform/config/setting-table.ts';
const CONFIG = 'src/platform/config/config.ts';

// The compiler tells what refers to a property: the same word elsewhere is no use of it.
const compiler = new API({ cwd: ROOT });
afterAll(() => compiler.close());
const [project] = compiler.updateSnapshot({ openProjects: [join(ROOT, 'tsconfig.json')] }).getProjects();

/** The properties of all object literals in a file, each with the other files in `src` that refer to it. */
function usesOf(path: string): ReadonlyMap<string, readonly string[]> {
  const file = project?.program.getSourceFile(join(ROOT, path));
  if (project === undefined || file === undefined) throw new Error(`tsconfig.json has no ${path}`);
  const root = file.path.slice(0, -path.length);
  const uses = new Map<string, readonly string[]>();
  const visit = (node: Node): void => {
    // A name in quotes is an attribute of OpenTelemetry.
    const isNamed = isPropertyAssignment(node) || isShorthandPropertyAssignment(node);
    if (isNamed && node.name.kind === SyntaxKind.Identifier) {
      const users = project.checker
        .getReferencedSymbolsForNode(node.name, node.name.getStart(file))
        .flatMap(({ references }) => references)
        // Others are names in types, such as in Pick<Config, 'port'>.
        .filter(({ kind }) => kind === SyntaxKind.Identifier)
        .map((reference) => reference.path.slice(root.length))
        .filter((user) => user.startsWith('src/') && user !== path);
      uses.set(node.name.getText(file), users);
    }
    node.forEachChild(visit);
  };
  visit(file);
  return uses;
}

describe('Each setting does something', () => {
  it('is passed on by the configuration', () => {
    const uses = usesOf(TABLE);
    const lost = SETTING_NAMES.filter((name) => !uses.get(name)?.includes(CONFIG));
    expect(
      lost,
      `${lost} of ${TABLE} is not read in ${CONFIG}: give its value to toConfig there, or delete the setting`,
    ).toEqual([]);
  });

  it('is read by name outside of the configuration', () => {
    const uses = usesOf(CONFIG);
    expect(uses.size).toBeGreaterThan(40);
    const unread = [...uses].filter(([, users]) => users.length === 0).map(([name]) => name);
    expect(
      unread,
      `Nothing in src reads ${unread} of Config (${CONFIG}). Read it by name where the service is composed (src/app/create-app.ts, src/engine/create-engine.ts), or in contentLimits of src/schema/content-limits.ts if it is a number of the product; or delete the setting`,
    ).toEqual([]);
  });
});

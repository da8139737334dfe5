import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { type Exit, ROOT, runShell } from '../support/processes/process.ts';

const PACKAGE = join(ROOT, 'examples/clients');

const run = (line: string): Promise<Exit> =>
  runShell(`cd examples/clients && PATH=node_modules/.bin:$PATH ${line}`);

/** A copy of a recipe at the same depth, in which each of its texts is replaced. */
async function copyOf(recipe: string, replace: (text: string) => string): Promise<string> {
  const folder = await mkdtemp(join(PACKAGE, 'wrong-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await cp(join(PACKAGE, recipe), folder, { recursive: true });
  const posts = join(folder, 'posts.ts');
  await writeFile(posts, replace(await readFile(posts, 'utf8')));
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: '../tsconfig.json', include: ['.'] }),
  );
  return basename(folder);
}

const unchanged = (text: string) => text;
const wrong = (text: string) => text.replace('{ id title ', '{ id titel ');

it('a query with a wrong field does not compile with gql.tada', async () => {
  const right = await copyOf('gql-tada', unchanged);
  expect(await run(`tsc -p ${right}`)).toMatchObject({ code: 0, stdout: '' });
  const folder = await copyOf('gql-tada', wrong);
  const { code, stdout } = await run(`tsc -p ${folder}`);
  expect(code).not.toBe(0);
  expect(stdout).toMatch(/posts\.ts\(\d+,\d+\): error TS\d+: .*titel/s);
  const check = await run(`gql.tada check -c ${folder}/tsconfig.json`);
  expect(check.code).not.toBe(0);
  expect(check.stdout + check.stderr).toContain('Cannot query field "titel" on type "Post"');
});

it('a query with a wrong field neither compiles nor generates with graphql-codegen', async () => {
  const right = await copyOf('codegen', unchanged);
  expect(await run(`tsc -p ${right}`)).toMatchObject({ code: 0, stdout: '' });
  const folder = await copyOf('codegen', wrong);
  const { code, stdout } = await run(`tsc -p ${folder}`);
  expect(code).not.toBe(0);
  expect(stdout).toMatch(/posts\.ts\(\d+,\d+\): error TS/);
  const config = join(PACKAGE, folder, 'codegen.yml');
  await writeFile(config, (await readFile(config, 'utf8')).replaceAll('codegen/', `${folder}/`));
  const generated = await run(`graphql-codegen --config ${folder}/codegen.yml`);
  expect(generated.code).not.toBe(0);
  expect(generated.stdout + generated.stderr).toContain('Cannot query field "titel" on type "Post"');
});

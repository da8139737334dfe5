import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { blocksOf, pathOf } from '../support/docs/markdown.ts';
import { ROOT, runShell } from '../support/processes/process.ts';

const blocks = blocksOf(readFileSync(join(ROOT, 'docs/clients.md'), 'utf8'));

/** The text of the first block of a section in a language. */
function textOf(section: string, language: string): string {
  const found = blocks.find((block) => block.section === section && block.language === language);
  if (found === undefined) throw new Error(`"${section}" has no ${language}`);
  return found.text;
}

it('the recipes of docs/clients.md compile in a new project that has nothing but what the page shows', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-pasted-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const run = async (line: string) => {
    const { code, stdout, stderr } = await runShell(
      `set -e; API=${ROOT}; cd ${folder}; PATH=${folder}/node_modules/.bin:$PATH; ${line}`,
    );
    expect(code, `${line}\n${stdout}${stderr}`).toBe(0);
  };
  await symlink(join(ROOT, 'examples/clients/node_modules'), join(folder, 'node_modules'));
  await run(textOf('Into a project', 'sh'));
  const settings = JSON.parse(textOf('Into a project', 'json'));
  Object.assign(settings.compilerOptions, JSON.parse(`{${textOf('fetch with gql.tada', 'json')}}`));
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  for (const block of blocks) {
    const path = pathOf(block)?.replace(/^examples\//, 'src/');
    if (path?.startsWith('src/') !== true) continue;
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), block.text);
  }
  await run('gql.tada generate-output');
  await run('cd src/clients && graphql-codegen --config codegen/codegen.yml --errors-only');
  await run('cd src/clients/relay && mkdir __generated__ && relay-compiler relay.config.json');
  await run('gql.tada check --level error && tsc');
});

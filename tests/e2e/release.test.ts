import { execFile } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { ROOT, runScript, temporaryFolder } from '../support/processes/process.ts';
import { admin } from '../support/processes/server.ts';

const run = promisify(execFile);
const PARTS = [
  'scripts',
  'src',
  'docs/operate/metrics.md',
  'deploy/kubernetes',
  'prisma',
  'package.json',
  'package-lock.json',
];
const SCHEMAS = ['schema.graphql', 'schema.released.graphql', 'CHANGELOG.md'];

/** A copy of the project, as far as a release is made of it. */
async function copied() {
  const folder = await temporaryFolder();
  for (const part of [...PARTS, ...SCHEMAS])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const read = (path: string) => readFileSync(join(folder, path), 'utf8');
  return {
    folder,
    read,
    edit: (path: string, change: (text: string) => string) =>
      writeFileSync(join(folder, path), change(read(path))),
    version: (): string => JSON.parse(read('package.json')).version,
    /** Resolves to what a script says, and to whether it succeeds. */
    script: (name: string, ...args: readonly string[]) =>
      run(process.execPath, [join(folder, 'scripts', name), ...args], { cwd: folder }).then(
        ({ stdout }) => ({ ok: true, said: stdout }),
        ({ stderr }: { stderr: string }) => ({ ok: false, said: stderr }),
      ),
  };
}

it('a release is made of what differs from the last one, and the next is compared with it', async () => {
  const project = await copied();
  // What has changed since the last release is in this one.
  const note = '## Unreleased\n\n- Pages load faster.\n';
  project.edit('CHANGELOG.md', (text) =>
    text.includes('## Unreleased\n')
      ? text.replace('## Unreleased\n', note)
      : text.replace(/^(?=## )/m, `${note}\n`),
  );
  expect(await project.script('release.ts')).toMatchObject({
    ok: true,
    said: expect.stringMatching(/^## [\d.]+, [\d-]+\n\n- Pages load faster\./),
  });
  expect(project.read('CHANGELOG.md')).not.toContain('## Unreleased');
  const [before, log] = [project.version(), project.read('CHANGELOG.md')];
  const [major, minor] = before.split('.').map(Number);
  const dayIn = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  const MORE = / {2}"More\."\n.*\n/;
  const deprecate = (day: string) =>
    project.edit('schema.graphql', (text) =>
      text
        .replace(MORE, '')
        .replace(
          'type Query {\n',
          `type Query {\n  "More."\n  more: Int @deprecated(reason: "Use \`posts\`, since ${day}.")\n`,
        ),
    );
  // Nobody has counted since then.
  deprecate(dayIn(-1));
  expect(await project.script('release.ts')).toEqual({
    ok: false,
    said: expect.stringContaining('("since YYYY-MM-DD")'),
  });
  expect(project.version()).toBe(before);
  const day = dayIn(1);
  deprecate(day);
  const made = await project.script('release.ts');
  const next = `${major}.${(minor ?? 0) + 1}.0`;
  expect(made).toMatchObject({ ok: true, said: expect.stringContaining(`## ${next}, `) });
  expect(made.said).toContain('- Field Query.more was added.');
  expect(made.said).toContain(`- Query.more is deprecated: Use \`posts\`, since ${day}.`);
  expect(project.version()).toBe(next);
  expect(JSON.parse(project.read('package-lock.json')).packages[''].version).toBe(next);
  expect(project.read('deploy/kubernetes/deployment.yaml')).toContain(`content-graph-api:${next}`);
  expect(project.read('schema.released.graphql')).toMatch(new RegExp(`^# Version ${next}, released at 2`));
  const [, old = ''] = log.split('\n## ');
  expect(project.read('CHANGELOG.md')).toContain(`\n## ${old}`);

  // It is gone again: nobody may know who uses it.
  project.edit('schema.graphql', (text) => text.replace(MORE, ''));
  const rejected = await project.script('release.ts');
  expect(rejected).toEqual({
    ok: false,
    said: expect.stringContaining('Field Query.more was removed. It is deprecated: pass --usage FILE'),
  });
  expect(await project.script('check-schema.ts')).toMatchObject({ ok: false });
  expect(project.version()).toBe(next);

  const at = `${dayIn(3)}T00:00:00Z`;
  const use = {
    element: 'Query.more',
    client: 'anonymous',
    clientName: null,
    kind: 'anonymous',
    release: null,
  };
  const report = {
    createdAt: at,
    since: '2026-10-01T00:00:00Z',
    usage: [{ ...use, lastUsedAt: at, count: 3 }],
    documents: [],
  };
  const file = join(await temporaryFolder(), 'usage.json');
  writeFileSync(file, JSON.stringify(report));
  expect((await project.script('check-schema.ts', '--usage', file)).said).toContain(
    '- anonymous: 3 times, last on',
  );
  writeFileSync(file, JSON.stringify({ ...report, usage: [] }));
  expect(await project.script('check-schema.ts', '--usage', file)).toMatchObject({ ok: true });
  expect((await project.script('release.ts', '--usage', file)).said).toContain(
    'Field Query.more was removed. No client used it.',
  );
});

it('without a base or a report that can be read, nothing is taken for compatible', async () => {
  const project = await copied();
  expect(await project.script('check-schema.ts', '--usage', 'nowhere.json')).toEqual({
    ok: false,
    said: expect.stringContaining('The report cannot be read'),
  });
  project.edit('schema.released.graphql', () => '');
  expect(await project.script('check-schema.ts')).toMatchObject({ ok: false });
});

it('the check names each published document that no longer fits the schema, with client, release, operation and reason', async () => {
  const project = await copied();
  const dataDir = await migratedFolder();
  const publish = async (id: string, text: string, ...options: readonly string[]) => {
    const file = join(project.folder, `${id}.json`);
    writeFileSync(file, JSON.stringify({ [id]: text }));
    const { json } = await admin(['document', 'publish', file, ...options], dataDir);
    expect(json).toMatchObject({ published: 1, rejected: [] });
  };
  const check = () =>
    runScript('scripts/check-schema.ts', ['--documents'], { DATA_DIR: dataDir }, project.folder).exited;
  await publish('kept', 'query Kept { users { name } }', '--client', 'web', '--release', '1.4.0');
  await publish('home', 'query Home { users { createdAt } }', '--client', 'web', '--release', '1.4.0');
  await publish('feed', 'query Feed { users { createdAt } }', '--client', 'app');
  expect(await check()).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('All published documents fit the schema.'),
  });
  project.edit('src/schema/user/type.ts', (text) =>
    text.replace("createdAt: t.expose('createdAt'", "madeAt: t.expose('createdAt'"),
  );
  const { code, stderr } = await check();
  expect(code).toBe(1);
  const reason = 'Cannot query field "createdAt" on type "User". (line 1, column 22)';
  expect(stderr.trim().split('\n').sort()).toEqual([
    `app, document feed: Feed: ${reason}`,
    `web 1.4.0, document home: Home: ${reason}`,
  ]);
});

/**
 * `npm run build`: compiles `src` to `dist`. It also runs before `npm pack`. It does not check types, because the types of
 * the adapters' libraries may not be installed: `npm run test:clients` checks them.
 */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const folder = import.meta.dirname;
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');

rmSync(join(folder, 'dist'), { recursive: true, force: true });
const project = join(folder, 'tsconfig.adapters.json');
execFileSync(process.execPath, [tsc, '--project', project, '--noCheck'], { stdio: 'inherit' });
// The compiler rewrites imports in JavaScript, but not in declarations (microsoft/TypeScript#61037).
for (const path of globSync('dist/**/*.d.ts', { cwd: folder })) {
  const text = readFileSync(join(folder, path), 'utf8');
  writeFileSync(join(folder, path), text.replace(/(from '\.[^']*|import\('\.[^']*)\.ts'/g, "$1.js'"));
}

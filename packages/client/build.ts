/** `npm run build`: compiles `src` to `dist`. It also runs before `npm pack`. */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { linkPeers } from './link-peers.ts';

const folder = import.meta.dirname;
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');

if (!linkPeers('packages/client')) {
  process.stderr.write(
    'The adapters need the types of their libraries: run "npm ci --prefix examples/clients" first.\n',
  );
  process.exit(1);
}
rmSync(join(folder, 'dist'), { recursive: true, force: true });
execFileSync(process.execPath, [tsc, '--project', join(folder, 'tsconfig.adapters.json')], {
  stdio: 'inherit',
});
// The compiler rewrites imports in JavaScript, but not in declarations (microsoft/TypeScript#61037).
for (const path of globSync('dist/**/*.d.ts', { cwd: folder })) {
  const text = readFileSync(join(folder, path), 'utf8');
  writeFileSync(join(folder, path), text.replace(/(from '\.[^']*|import\('\.[^']*)\.ts'/g, "$1.js'"));
}

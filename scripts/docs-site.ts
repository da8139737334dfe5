/**
 * Builds the site of the documentation, or serves it while pages change. VitePress is a separate package, because no user of
 * the service needs it.
 */
import { installPackage, runOrExit } from './testing/separate-package.ts';

const HELP = `npm run docs:build [-- --base /PATH/ --outDir FOLDER]
npm run docs:dev

Builds the pages, the API reference and the schema into docs/.vitepress/dist, which any web server can publish. A link to a
page that does not exist is an error. --base is the path of the site on its server. docs:dev serves pages while they change.
`;

const [command = 'build', ...args] = process.argv.slice(2);
if (args.includes('--help')) {
  process.stdout.write(HELP);
  process.exit(0);
}
installPackage('docs', '--ignore-scripts');
runOrExit(process.execPath, ['docs/node_modules/vitepress/bin/vitepress.js', command, 'docs', ...args]);

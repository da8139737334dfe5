/**
 * Ends with a sentence where Node is too old for the service, before the loader fails on its first file. Plain
 * JavaScript for any Node. Run by itself, it takes another version to judge as an argument.
 */
var required = Number(/\d+/.exec(require('../package.json').engines.node)[0]);
var version = (require.main === module && process.argv[2]) || process.version;

if (Number(/\d+/.exec(version)[0]) < required) {
  process.stderr.write(
    'The Content Graph API needs Node ' +
      required +
      ' or later, and this is Node ' +
      version.replace(/^v/, '') +
      ' (' +
      process.execPath +
      '). Install a newer Node, or run "npm ci" without --omit=dev: it installs one with the project.\n',
  );
  process.exit(1);
}

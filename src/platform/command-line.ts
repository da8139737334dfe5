import { type ParseArgsConfig, parseArgs } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;

/**
 * The values of a program's options. Ends the process where there is nothing to run: `--help` prints `help` and exits with
 * 0, an option or a word that the program does not have is named on standard error and exits with 2.
 * @param help begins with the command: "npm …"
 */
export function readArguments<const T extends Options>(help: string, options: T) {
  if (process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) {
    process.stdout.write(help);
    process.exit(0);
  }
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    process.stderr.write(`${error.message}\n\n${help}`);
    process.exit(2);
  }
}

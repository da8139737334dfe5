/** `npm run demo:reset`: development begins anew with the demo data, which the outputs in the docs suppose. */
import { resetDemo } from '../src/features/development/demo-data.ts';
import { loadProcessConfig } from '../src/platform/config/config.ts';
import { OperatorError } from '../src/platform/errors.ts';
import { readArguments } from '../src/platform/process.ts';

const HELP = `npm run demo:reset

Deletes the embedded database of development (DATA_DIR, by default .data) and demo.json, the file of its key and
password. Every account, post and comment in it is gone. The next "npm start" makes the demo data anew, with a new key
and a new password. Refuses while a service runs on the folder, in production, with DATABASE_URL, and any folder without
demo data.
`;

readArguments(HELP, {});
try {
  const deleted = resetDemo(loadProcessConfig());
  process.stdout.write(
    `Deleted ${deleted.join(' and ')}.\nRun "npm start" next: it makes the demo data anew, with a new key and a new password.\n`,
  );
} catch (error) {
  if (!(error instanceof OperatorError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

import { expect } from 'vitest';
import type { Exit, Settings } from './process.ts';
import { admin, launchServer } from './server.ts';

/** What it says is one line that names the setting and tells what to do, and never a secret. */
export function expectOneLine({ code, stdout, stderr }: Exit, says: RegExp): void {
  expect(stderr).toMatch(/^[^\n]+\n$/);
  expect(stderr).toMatch(says);
  expect(`${stdout}${stderr}`).not.toMatch(/^ {4}at |swordfish/m);
  expect(code).toBe(1);
}

/** The service and a command say the same. */
export async function expectBothSay(dataDir: string, settings: Settings, says: RegExp): Promise<void> {
  const served = await launchServer(dataDir, settings).exited;
  expectOneLine(served, says);
  expect(served.stdout).not.toContain('service.started');
  const administered = await admin(['user', 'list'], dataDir, settings);
  expectOneLine(administered, says);
  expect(administered.stderr).toBe(served.stderr);
}

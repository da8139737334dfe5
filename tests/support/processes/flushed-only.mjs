/**
 * Loaded into a server, keeps a second folder that has what a loss of power would leave of the first: each file as it
 * was when it was last flushed, and nothing of those that never were.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { FLUSHED_FROM: from = '', FLUSHED_TO: to = '' } = process.env;
const { fsyncSync, renameSync } = fs;
const leftOf = (path) => (`${path}/`.startsWith(`${from}/`) ? to + path.slice(from.length) : undefined);

fs.fsyncSync = (descriptor) => {
  fsyncSync(descriptor);
  const path = fs.readlinkSync(`/proc/self/fd/${descriptor}`);
  const left = leftOf(path);
  if (left === undefined) return;
  if (fs.fstatSync(descriptor).isDirectory()) {
    fs.mkdirSync(left, { recursive: true, mode: 0o700 });
    return;
  }
  fs.mkdirSync(left.slice(0, left.lastIndexOf('/')), { recursive: true, mode: 0o700 });
  // Whole or not at all: the server may be killed in the middle of this.
  fs.copyFileSync(path, `${left}.copy`);
  renameSync(`${left}.copy`, left);
};
fs.renameSync = (before, after) => {
  renameSync(before, after);
  const [leftBefore, leftAfter] = [leftOf(before), leftOf(after)];
  if (leftBefore !== undefined && leftAfter !== undefined && fs.existsSync(leftBefore))
    renameSync(leftBefore, leftAfter);
};
syncBuiltinESMExports();

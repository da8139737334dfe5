/**
 * Exits with 0 if the service on this machine returns 200 for a path: health-check.mjs [PATH, by default /health/live]
 * [SECONDS]. With SECONDS, waits up to that long for the 200, but no longer than systemd's MAINPID runs. The programs that
 * call this, HEALTHCHECK in an image without a shell and ExecStartPost of the systemd unit, have no other HTTP client.
 */
import { setTimeout as delay } from 'node:timers/promises';

const { HOST, PORT, MAINPID } = process.env;
const [path = '/health/live', seconds = '0'] = process.argv.slice(2);
const host = (HOST || '127.0.0.1').replace(/^\[(.*)\]$/, '$1');
const url = `http://${host.includes(':') ? `[${host}]` : host}:${PORT || 4000}${path}`;
const RETRY_MS = 100;
/** A service that is too busy to respond within 3 s is not healthy. */
const RESPONSE_MS = 3_000;

async function describeProblem() {
  try {
    const { ok, status } = await fetch(url, { signal: AbortSignal.timeout(RESPONSE_MS) });
    return ok ? undefined : `returns ${status}`;
  } catch (error) {
    return `cannot be reached (${error.cause?.code ?? error.name})`;
  }
}

function isRunning() {
  if (MAINPID === undefined) return true;
  try {
    return process.kill(Number(MAINPID), 0);
  } catch (error) {
    return error.code !== 'ESRCH';
  }
}

const deadlineMs = performance.now() + Number(seconds) * 1_000;
let problem = await describeProblem();
while (problem !== undefined && performance.now() < deadlineMs && isRunning()) {
  await delay(RETRY_MS);
  problem = await describeProblem();
}
if (problem !== undefined) process.stderr.write(`${url} ${problem}\n`);
process.exitCode = problem === undefined ? 0 : 1;

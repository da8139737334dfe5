/** No benchmark takes longer unless something hangs, or it says so. */
const LIMIT_MS = 40 * 60_000;

/**
 * Runs a command that leaves nothing behind: servers and databases that it registers with the stack are gone when it
 * ends, fails, is interrupted or hangs, which is to take longer than `limitMs`.
 */
export async function withCleanup(
  command: (cleanup: AsyncDisposableStack) => Promise<void>,
  limitMs = LIMIT_MS,
): Promise<void> {
  const cleanup = new AsyncDisposableStack();
  const interrupted = Promise.withResolvers<never>();
  const interrupt = (signal: NodeJS.Signals) => interrupted.reject(new Error(`interrupted by ${signal}`));
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  const timer = setTimeout(() => interrupted.reject(new Error('it took too long')), limitMs);
  try {
    await Promise.race([command(cleanup), interrupted.promise]);
  } catch (error) {
    process.stderr.write(`${(error as Error).stack}\n`);
    process.exitCode = 1;
    // What an abandoned command still has open breaks under it, as it must.
    process.on('uncaughtException', () => undefined);
  } finally {
    clearTimeout(timer);
    await cleanup.disposeAsync();
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
  // Whatever an interrupted command still waits for is not waited for.
  process.exit();
}

/**
 * For HEALTHCHECK in an image without a shell: exits with 0 if the service in this container answers 200 at a path, by
 * default /health/live.
 */
const [path = '/health/live'] = process.argv.slice(2);
try {
  const { ok } = await fetch(`http://127.0.0.1:${process.env.PORT ?? 4000}${path}`);
  process.exitCode = ok ? 0 : 1;
} catch {
  process.exitCode = 1;
}

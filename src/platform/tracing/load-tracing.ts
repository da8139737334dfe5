import type { Logger } from '../log.ts';
import type { TracingSettings } from './settings.ts';
import type { Tracing } from './tracing.ts';

/** Undefined without settings: then OpenTelemetry's SDK is not loaded, which takes a tenth of a second and 24 MB. */
export async function loadTracing(
  settings: TracingSettings | undefined,
  version: string,
  log: Logger,
): Promise<Tracing | undefined> {
  if (settings === undefined) return undefined;
  const { openTracing } = await import('./open-telemetry.ts');
  return openTracing(settings, version, log);
}

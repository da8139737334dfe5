import { describe, expect, it } from 'vitest';
import { useCollector } from '../support/otlp.ts';
import { type Exit, temporaryFolder } from '../support/processes/process.ts';
import { demoKey, type ServerProcess, startServer } from '../support/processes/server.ts';

/** Tells on standard error of each module that it loads of OpenTelemetry. prom-client loads the API, which does nothing. */
const TELLING = `
  import { registerHooks } from 'node:module';
  registerHooks({ load(url, context, next) {
    if (/opentelemetry\\/(?!api\\/)/.test(url)) process.stderr.write('loaded ' + url + '\\n');
    return next(url, context);
  } });`;
const TOLD: Readonly<Record<string, string>> = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(TELLING)}`,
};
const LOADED = /loaded \S+/;

async function stopped(server: ServerProcess): Promise<Exit> {
  server.kill('SIGTERM');
  return server.exited;
}

describe('Traces of a process', () => {
  const collector = useCollector();

  it('load nothing of the SDK without a collector', async () => {
    const folder = await temporaryFolder();
    const server = await startServer(folder, TOLD);
    expect((await server.gql('{ viewer { id } }', { key: await demoKey(folder) })).status).toBe(200);
    const { code, stderr } = await stopped(server);
    expect([code, LOADED.exec(stderr)?.[0]]).toEqual([0, undefined]);
  });

  it('have all been sent when it has stopped, as its own settings say and no other variable', async () => {
    const folder = await temporaryFolder();
    const settings = {
      ...TOLD,
      ...collector.settings,
      OTEL_BSP_SCHEDULE_DELAY: '600000',
      // Variables of OpenTelemetry that are no settings of the service: the collector cannot read gzip.
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: '1',
      OTEL_SDK_DISABLED: 'true',
    };
    const server = await startServer(folder, settings);
    expect((await server.gql('{ viewer { id } }', { key: await demoKey(folder) })).status).toBe(200);
    expect(collector.spans).toEqual([]);
    const { code, stderr } = await stopped(server);
    expect([code, LOADED.test(stderr)]).toEqual([0, true]);
    expect(collector.spans.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['POST /graphql', 'query']),
    );
  });

  it('do not hold up a stop where the collector does not answer', async () => {
    collector.respond = () => undefined;
    const folder = await temporaryFolder();
    // Longer than any test may take.
    const patient = { ...collector.settings, OTEL_EXPORTER_OTLP_TIMEOUT: '600000' };
    const server = await startServer(folder, patient);
    expect((await server.gql('{ viewer { id } }', { key: await demoKey(folder) })).status).toBe(200);
    expect((await stopped(server)).code).toBe(0);
  });
});

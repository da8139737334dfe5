import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { SETTING_NAMES } from '../../src/platform/config/setting-table.ts';
import { useApp } from '../support/app.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
/** Settings, the files that hold them, and what Node, its image and glibc read. */
const KNOWN = new Set([
  ...SETTING_NAMES.flatMap((name) => [name, `${name}_FILE`]),
  'NODE_COMPILE_CACHE',
  'LD_LIBRARY_PATH',
  'MALLOC_MMAP_THRESHOLD_',
]);

interface ComposeFile {
  readonly services: Record<
    string,
    {
      readonly environment?: Record<string, string>;
      readonly volumes?: string[];
      readonly secrets?: string[];
      readonly logging?: { readonly options: Readonly<Record<string, string>> };
    }
  >;
  readonly secrets: Record<string, { readonly file: string }>;
}

const compose = parse(read('deploy/compose/compose.yaml'), { merge: true }) as ComposeFile;
const manifests = globSync('deploy/kubernetes/*.yaml', { cwd: ROOT }).sort();

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}
interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly data?: Record<string, string>;
  readonly spec?: {
    readonly activeDeadlineSeconds?: number;
    readonly template?: {
      readonly spec: {
        readonly containers: Record<'startupProbe' | 'livenessProbe' | 'readinessProbe', Probe>[];
      };
    };
  };
}

const manifestOf = (file: string) => parse(read(file)) as Manifest;

describe('the settings in deploy/', () => {
  const units = globSync('deploy/systemd/*.{service,conf}', { cwd: ROOT }).flatMap((file) =>
    [...read(file).matchAll(/^Environment=(.*)$/gm)].flatMap(([, pairs = '']) => pairs.split(' ')),
  );
  const dockerfile = /^ENV ((?:.*\\\n)*.*)/m.exec(read('deploy/Dockerfile'))?.[1] ?? '';
  const settingsEnv = read('deploy/systemd/settings.env')
    .split('\n')
    .filter((line) => /^[A-Z]/.test(line));

  it.each<[string, readonly string[]]>([
    ['compose.yaml', Object.keys(compose.services['api-1']?.environment ?? {})],
    ['the ConfigMap', Object.keys(manifestOf('deploy/kubernetes/settings.yaml').data ?? {})],
    ['the systemd units', units.map((pair) => pair.split('=')[0] ?? '')],
    ['settings.env', settingsEnv.map((pair) => pair.split('=')[0] ?? '')],
    ['the Dockerfile', dockerfile.split(/[\s\\]+/).map((pair) => pair.split('=')[0] ?? '')],
  ])('of %s are settings of the service', (_where, names) => {
    expect(names.length).toBeGreaterThan(2);
    expect(names.filter((name) => !KNOWN.has(name))).toEqual([]);
  });
});

describe('compose.yaml', () => {
  it('mounts files that are there, or that secrets.sh makes', () => {
    const made = read('deploy/compose/secrets.sh');
    const mounted = Object.values(compose.services).flatMap(({ volumes = [] }) =>
      volumes.map((it) => it.split(':')[0] ?? ''),
    );
    const files = [
      ...mounted.filter((path) => path.startsWith('.')),
      ...Object.values(compose.secrets).map(({ file }) => file),
    ];
    expect(files.length).toBeGreaterThan(10);
    for (const file of files) {
      const secret = /^\.\/secrets\/(.+)$/.exec(file)?.[1];
      if (secret === undefined)
        expect([file, existsSync(join(ROOT, 'deploy/compose', file))]).toEqual([file, true]);
      else expect(made).toContain(secret);
    }
  });

  it('bounds the lines of every service', () => {
    for (const [name, { logging }] of Object.entries(compose.services))
      expect([name, logging?.options]).toEqual([name, { 'max-size': '20m', 'max-file': '5' }]);
  });

  it('has every instance that nginx and Prometheus name, and no other', () => {
    const instances = Object.keys(compose.services).filter((name) => /^api-\d$/.test(name));
    const named = [...read('deploy/nginx/content-graph.conf').matchAll(/server (api-\d):4000/g)].map(
      ([, name]) => name,
    );
    const scraped = /targets: \[(api-.*)\]/.exec(read('deploy/compose/prometheus.yml'))?.[1]?.split(', ');
    expect(instances).toEqual(named);
    expect(instances).toEqual(scraped);
  });
});

describe('the nginx configurations of deploy/ and docs/', () => {
  const files = globSync(['deploy/**/*.{conf,yaml}', 'docs/**/*.md'], {
    cwd: ROOT,
    exclude: ['**/node_modules/**'],
  });
  const upstreams = files.flatMap((file) =>
    [...read(file).matchAll(/^ *upstream \w+ \{\n([\s\S]*?)^ *\}/gm)].map(([, body = '']) => ({
      file,
      servers: body.split('\n').filter((line) => /^\s*server /.test(line)),
    })),
  );

  it('skip no instance because of failed requests', () => {
    expect(upstreams.length).toBeGreaterThan(1);
    // nginx never skips the only server of an upstream.
    const skipping = upstreams.filter(
      ({ servers }) => servers.length > 1 && servers.some((line) => !/ max_fails=0\b/.test(line)),
    );
    expect(skipping).toEqual([]);
  });
});

describe('the Kubernetes manifests', () => {
  const app = useApp();

  it('are what the API of Kubernetes takes', () => {
    const folder = mkdtempSync(join(ROOT, 'node_modules/.manifests-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    // The operator's kinds are not Kubernetes' own.
    const own = manifests.map(manifestOf).filter(({ apiVersion }) => !apiVersion.startsWith('monitoring.'));
    const lines = own.map((manifest, index) => {
      const from = manifest.apiVersion.includes('/')
        ? manifest.apiVersion.replace('.k8s.io', '')
        : `core/${manifest.apiVersion}`;
      return [
        `import type { ${manifest.kind} as Kind${index} } from 'kubernetes-types/${from === 'core/v1' ? 'core/v1' : from}';`,
        `export const manifest${index}: Kind${index} = ${JSON.stringify(manifest)};`,
      ].join('\n');
    });
    writeFileSync(join(folder, 'manifests.ts'), lines.join('\n'));
    const tsc = [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--ignoreConfig',
      '--moduleResolution',
      'bundler',
      '--module',
      'esnext',
    ];
    expect(own.length).toBeGreaterThan(5);
    execFileSync(
      process.execPath,
      [join(ROOT, 'node_modules/typescript/bin/tsc'), ...tsc, join(folder, 'manifests.ts')],
      {
        encoding: 'utf8',
        stdio: 'pipe',
      },
    );
  });

  it('have no secret, which applying the folder would overwrite, and a job that fails in time', () => {
    expect(manifests.map((file) => manifestOf(file).kind)).not.toContain('Secret');
    expect(manifestOf('deploy/kubernetes/migrate.yaml').spec?.activeDeadlineSeconds).toBeLessThan(600);
  });

  it('probe paths that the service answers', async () => {
    const [container] = manifestOf('deploy/kubernetes/deployment.yaml').spec?.template?.spec.containers ?? [];
    const probes = [container?.startupProbe, container?.livenessProbe, container?.readinessProbe];
    expect(probes.map((probe) => probe?.httpGet.path)).toEqual([
      '/health/live',
      '/health/live',
      '/health/ready',
    ]);
    for (const probe of probes) expect((await app.fetch(probe?.httpGet.path ?? '')).status).toBe(200);
  });
});

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { freePort } from '../../scripts/cluster/processes.ts';
import { startNginx } from '../support/nginx.ts';
import { ROOT, temporaryFolder } from '../support/processes/process.ts';
import { productionSettings, startServer } from '../support/processes/server.ts';
import { secureClient } from './support/secure-client.ts';

interface Named {
  readonly name: string;
}

interface Container extends Named {
  readonly image: string;
  readonly ports?: readonly (Named & { containerPort: number })[];
  readonly envFrom?: readonly { configMapRef: Named }[];
  readonly volumeMounts: readonly (Named & { mountPath: string })[];
  readonly securityContext: object;
}

interface Pod {
  readonly containers: readonly Container[];
  readonly volumes: readonly (Named & { secret?: { secretName: string }; configMap?: Named })[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: Named & { labels: Readonly<Record<string, string>> };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: { readonly template?: { readonly metadata: object; readonly spec: Pod } };
}

const FILES = globSync('deploy/kubernetes/*.yaml', { cwd: ROOT });
const manifests = FILES.flatMap((file) =>
  parseAllDocuments(readFileSync(join(ROOT, file), 'utf8')).map((document): Manifest => document.toJS()),
);
const manifest = (kind: string, name = 'content-graph'): Manifest =>
  manifests.find((one) => one.kind === kind && one.metadata.name === name) ?? expect.fail(`no ${kind}`);
const pods = manifests.flatMap(({ spec }) => spec?.template?.spec ?? []);

/** What the first lines of the page make by hand. */
const SECRETS: Readonly<Record<string, readonly string[]>> = {
  'content-graph': ['database-url', 'secret-key', 'metrics-token'],
  'content-graph-metrics': ['tls.crt', 'tls.key'],
};

describe('deploy/kubernetes', () => {
  it('mounts and reads only what there is', () => {
    const maps = manifests.flatMap(({ kind, metadata }) => (kind === 'ConfigMap' ? metadata.name : []));
    expect(pods).toHaveLength(2);
    for (const { containers, volumes } of pods) {
      for (const { secret, configMap } of volumes) {
        if (secret !== undefined) expect(Object.keys(SECRETS)).toContain(secret.secretName);
        if (configMap !== undefined) expect(maps).toContain(configMap.name);
      }
      for (const { volumeMounts, envFrom = [], securityContext } of containers) {
        for (const { name } of volumeMounts) expect(volumes.map((volume) => volume.name)).toContain(name);
        for (const { configMapRef } of envFrom) expect(maps).toContain(configMapRef.name);
        expect(securityContext).toMatchObject({ readOnlyRootFilesystem: true });
      }
    }
    const files = Object.values(manifest('ConfigMap').data ?? {}).filter((value) =>
      value.startsWith('/secrets/'),
    );
    expect(files.map((file) => file.slice('/secrets/'.length)).sort()).toEqual(
      [...(SECRETS['content-graph'] ?? [])].sort(),
    );
    const page = readFileSync(join(ROOT, 'docs/operate/deployment.md'), 'utf8');
    for (const [name, keys] of Object.entries(SECRETS)) {
      const made = page
        .split('\n')
        .find((line) => line.includes(`create secret`) && line.includes(` ${name} `));
      for (const key of keys) expect(made).toContain(key.startsWith('tls.') ? ' tls ' : `--from-file=${key}`);
    }
  });

  it('lets Prometheus in where it scrapes, and lets it find the job that the alerts are for', () => {
    const monitor = JSON.stringify(manifest('PodMonitor').spec);
    const [, port = ''] = /"port":"(\w+)"/.exec(monitor) ?? [];
    const ports = pods.flatMap(({ containers }) => containers.flatMap((container) => container.ports ?? []));
    expect(ports).toContainEqual({ name: port, containerPort: 9443 });
    expect(JSON.stringify(manifest('NetworkPolicy').spec)).toContain(`"port":"${port}"`);
    const { metadata } = manifest('Deployment').spec?.template ?? expect.fail('no pod');
    expect(metadata).toMatchObject({ labels: { 'app.kubernetes.io/name': 'content-graph' } });
    expect(monitor).toContain('"jobLabel":"app.kubernetes.io/name"');
  });

  it('has a proxy through which METRICS_TOKEN, and nothing else, gets metrics', async () => {
    const { data = {} } = manifest('ConfigMap');
    const token = 'a-token-of-32-letters-or-a-bit-more';
    const folder = await temporaryFolder();
    const server = await startServer(join(folder, 'data'), {
      ...productionSettings(),
      // Each operator replaces the placeholder, with which the service does not start.
      TRUST_PROXY: (data.TRUST_PROXY ?? '').replace('NETWORK_OF_THE_INGRESS_CONTROLLER', '10.1.2.0/24'),
      METRICS_TOKEN: token,
    });
    const port = await freePort();
    const configuration = (manifest('ConfigMap', 'content-graph-metrics').data?.['nginx.conf'] ?? '')
      .replace('listen 9443', `listen 127.0.0.1:${port}`)
      .replace('http://127.0.0.1:4000', server.origin)
      .replace('/etc/metrics/tls/tls.crt', '/etc/nginx/certificate.pem')
      .replace('/etc/metrics/tls/tls.key', '/etc/nginx/key.pem')
      .replaceAll(/\n *\w+_temp_path .*/g, '')
      .replace('/tmp/nginx.pid', '/run/nginx.pid');
    const nginx = await startNginx(configuration, { folder, port });
    const client = secureClient(port, nginx.certificate, 1);
    const ask = (path: string, headers: Readonly<Record<string, string>> = {}) =>
      client.ask({ path, method: 'GET', headers: { host: `10.0.3.7:${port}`, ...headers } });
    expect(await ask('/metrics', { authorization: `Bearer ${token}` })).toMatchObject({ status: 200 });
    expect(await ask('/metrics')).toMatchObject({ status: 401 });
    expect(
      await ask('/metrics', { authorization: 'Bearer another-one-of-32-letters-or-more' }),
    ).toMatchObject({
      status: 401,
    });
    expect(await ask('/health/live', { authorization: `Bearer ${token}` })).toMatchObject({ status: 404 });
  });
});

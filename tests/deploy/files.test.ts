import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ROOT } from '../support/processes/process.ts';

const run = promisify(execFile);

/** A copy of `deploy/`, for programs that write beside what they read. */
function copied(): string {
  const folder = mkdtempSync(join(tmpdir(), 'content-graph-deploy-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  cpSync(join(ROOT, 'deploy'), join(folder, 'deploy'), { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  return join(folder, 'deploy');
}

describe('deploy/compose', () => {
  it('is a compose file, once its secrets are made', async () => {
    const folder = join(copied(), 'compose');
    const made = await run(join(folder, 'secrets.sh'), ['api.example.org']);
    expect(made.stdout).toContain('secrets/secret-key\n');
    expect(made.stderr).toContain('nobody is told of them');
    expect(readFileSync(join(folder, '.env'), 'utf8')).toBe('DOMAIN=api.example.org');
    const secret = (name: string) => readFileSync(join(folder, 'secrets', name), 'utf8');
    expect(secret('database-url')).toBe(
      `postgres://content:${secret('database-password')}@postgres:5432/content`,
    );
    const config = (...more: string[]) =>
      run('docker-compose', ['--file', join(folder, 'compose.yaml'), 'config', ...more]);
    expect((await config()).stdout).toContain('PUBLIC_URL: https://api.example.org\n');
    const { stdout } = await config('--services');
    expect(stdout.trim().split('\n').sort()).toEqual([
      'alertmanager',
      'api-1',
      'api-2',
      'api-3',
      'grafana',
      'migrate',
      'nginx',
      'postgres',
      'prometheus',
      'redis',
    ]);
    const before = secret('secret-key');
    expect((await run(join(folder, 'secrets.sh'), ['api.example.org'])).stdout).toContain(
      'secret-key is there already',
    );
    expect(secret('secret-key')).toBe(before);
  });

  it('has a configuration that Prometheus takes', async () => {
    const folder = copied();
    cpSync(join(folder, 'alerts.yml'), join(folder, 'compose/alerts.yml'));
    await run(join(folder, 'compose/secrets.sh'), ['api.example.org']);
    // Where the container has them.
    const configuration = readFileSync(join(folder, 'compose/prometheus.yml'), 'utf8');
    expect(configuration).toContain('/run/secrets/metrics-token');
    const { stdout } = await run('promtool', [
      'check',
      'config',
      '--syntax-only',
      join(folder, 'compose/prometheus.yml'),
    ]);
    expect(stdout).toContain('SUCCESS');
  });
});

describe('deploy/compose/secrets.sh', () => {
  it('makes a configuration that Alertmanager takes, with the address or without', async () => {
    for (const address of [[], ['https://chat.example.org/hooks/a?b=c']]) {
      const folder = join(copied(), 'compose');
      await run(join(folder, 'secrets.sh'), ['api.example.org', ...address]);
      const file = join(folder, 'secrets/alertmanager.yml');
      expect(readFileSync(file, 'utf8').includes('webhook_configs')).toBe(address.length > 0);
      expect((await run('amtool', ['check-config', file])).stdout).toContain('SUCCESS');
    }
  });

  it('rejects what would break the configuration', async () => {
    const folder = join(copied(), 'compose');
    await expect(run(join(folder, 'secrets.sh'), ['api.example.org', 'https://a"b'])).rejects.toMatchObject({
      code: 1,
      stderr: 'https://a"b is no address\n',
    });
  });
});

describe('deploy/nginx', () => {
  it('is what nginx takes', async () => {
    const folder = copied();
    await run(join(folder, 'compose/secrets.sh'), ['api.example.org']);
    const files = ['content-graph.conf', 'metrics.conf'].map((name) => {
      const file = join(folder, 'nginx', name);
      const names = readFileSync(file, 'utf8')
        .replaceAll('/etc/nginx/', `${folder}/compose/secrets/`)
        .replaceAll('/var/cache/', `${folder}/`);
      writeFileSync(file, names.replaceAll(/server api-\d:/g, 'server 127.0.0.1:'));
      return `include ${file};`;
    });
    const configuration = join(folder, 'nginx.conf');
    const main = readFileSync(join(folder, 'nginx/nginx.conf'), 'utf8');
    writeFileSync(
      configuration,
      main
        .replace('user nginx;', '')
        .replace('/run/nginx.pid', `${folder}/pid`)
        .replace('include /etc/nginx/conf.d/*.conf;', files.join('\n')),
    );
    const nginx = existsSync('/usr/sbin/nginx') ? '/usr/sbin/nginx' : 'nginx';
    const { stderr } = await run(nginx, ['-t', '-p', folder, '-c', configuration]);
    expect(stderr).toContain('test is successful');
  });
});

describe('deploy/systemd', () => {
  const units = globSync('deploy/systemd/*.service', { cwd: ROOT });

  it('has units that systemd takes', async () => {
    expect(units).toHaveLength(2);
    const folder = copied();
    const embedded = join(folder, 'embedded');
    const dropIn = join(embedded, 'content-graph@.service.d');
    mkdirSync(dropIn, { recursive: true });
    cpSync(join(folder, 'systemd/embedded.conf'), join(dropIn, 'embedded.conf'));
    cpSync(join(folder, 'systemd/content-graph@.service'), join(embedded, 'content-graph@.service'));
    for (const unit of [...units.map((name) => join(ROOT, name)), join(embedded, 'content-graph@.service')]) {
      const { stderr } = await run('systemd-analyze', ['verify', '--man=no', unit]);
      // The program and the folder are those of another machine.
      const said = stderr
        .split('\n')
        .filter((line) => line !== '' && !/is not executable|no such file/i.test(line));
      expect(said).toEqual([]);
    }
  });

  it('has a configuration that Prometheus takes', async () => {
    const folder = join(copied(), 'systemd');
    cpSync(join(folder, '../alerts.yml'), join(folder, 'alerts.yml'));
    const { stdout } = await run('promtool', ['check', 'config', join(folder, 'prometheus.yml')]);
    expect(stdout).toContain('SUCCESS');
  });

  it('leaves an attacker little', async () => {
    for (const unit of units) {
      const analyze = ['security', '--offline=true', '--threshold=20', join(ROOT, unit)];
      const { stdout } = await run('systemd-analyze', analyze);
      expect(stdout).toMatch(/Overall exposure level for .*: 1\.\d OK/);
    }
  });
});

describe('deploy/', () => {
  it('has a script that can be run', () => {
    expect(statSync(join(ROOT, 'deploy/compose/secrets.sh')).mode & 0o111).toBe(0o111);
  });
});

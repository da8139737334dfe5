import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { freePort } from '../../scripts/cluster/processes.ts';
import { ROOT, temporaryFolder, until } from '../support/processes/process.ts';

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

/** A Prometheus of the test's own. */
export interface Prometheus {
  /** The series of a query that have a number. */
  query(expr: string): Promise<Sample[]>;
  /** Names and states of the rules, and what went wrong with one. */
  rules(): Promise<{ name: string; health: string; lastError?: string }[]>;
}

/** Starts one that scrapes the instances every five seconds, with the rules of deploy/alerts.yml. */
export async function startPrometheus(instances: readonly string[]): Promise<Prometheus> {
  const folder = await temporaryFolder();
  const port = await freePort();
  const targets = instances.map((origin) => new URL(origin).host);
  const config = {
    global: { scrape_interval: '5s', evaluation_interval: '1s' },
    rule_files: [join(ROOT, 'deploy/alerts.yml')],
    scrape_configs: [{ job_name: 'content-graph', static_configs: [{ targets }] }],
  };
  const file = join(folder, 'prometheus.yml');
  // JSON is YAML.
  await writeFile(file, JSON.stringify(config));
  const child = spawn(
    'prometheus',
    [`--config.file=${file}`, `--storage.tsdb.path=${folder}/data`, `--web.listen-address=127.0.0.1:${port}`],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', () => resolve(said));
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const failed = ended.then((why) => {
    throw new Error(`Prometheus does not run: ${why}`);
  });
  failed.catch(() => undefined);

  async function ask(path: string) {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
    const { status, data, error } = await response.json();
    if (status !== 'success') throw new Error(`${path}: ${error}`);
    return data;
  }

  const ready = () =>
    fetch(`http://127.0.0.1:${port}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  await Promise.race([until('Prometheus', ready), failed]);
  return {
    async query(expr) {
      const { result }: { result: Sample[] } = await ask(`query?query=${encodeURIComponent(expr)}`);
      return result.filter(({ value }) => !Number.isNaN(Number(value[1])));
    },
    async rules() {
      const { groups } = await ask('rules');
      return groups.flatMap((group: { rules: object[] }) => group.rules);
    },
  };
}

import { hash } from 'node:crypto';
import type { TestApp } from './app.ts';
import { until } from './processes/process.ts';

const returned = new Set<string>();

/**
 * Reads `/metrics` until the text is a new one: the service makes at most ten a second, and repeats the last one in
 * between. Each text is different because it has the CPU time of the process.
 */
function readNewText(read: () => Promise<Response>): Promise<string> {
  return until('a new text of /metrics', async () => {
    const response = await read();
    const text = await response.text();
    if (!response.ok) throw new Error(`/metrics is ${response.status}`);
    const digest = hash('sha256', text);
    if (returned.has(digest)) return undefined;
    returned.add(digest);
    return text;
  });
}

/** The value of a metric without labels, as `/metrics` has it. */
export async function readMetric({ fetch }: Pick<TestApp, 'fetch'>, name: string): Promise<number> {
  const text = await readNewText(() => fetch('/metrics'));
  const value = new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1];
  if (value === undefined) throw new Error(`there is no metric ${name}`);
  return Number(value);
}

/** The values of a metric by one of its labels; what was never counted is not in it. */
export async function readMetricBy(
  { fetch }: { readonly fetch: (request: Request) => Promise<Response> },
  name: string,
  label: string,
): Promise<Map<string, number>> {
  const text = await readNewText(() => fetch(new Request('http://127.0.0.1:4000/metrics')));
  const lines = text.matchAll(new RegExp(`^${name}\\{[^}]*${label}="([^"]*)"[^}]*\\} (\\S+)$`, 'gm'));
  return new Map([...lines].map(([, value = '', count]) => [value, Number(count)]));
}

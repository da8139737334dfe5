import type { TestApp } from './app.ts';

/** The value of a metric without labels, as `/metrics` has it. */
export async function readMetric({ fetch }: Pick<TestApp, 'fetch'>, name: string): Promise<number> {
  const text = await (await fetch('/metrics')).text();
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
  const text = await (await fetch(new Request('http://127.0.0.1:4000/metrics'))).text();
  const lines = text.matchAll(new RegExp(`^${name}\\{[^}]*${label}="([^"]*)"[^}]*\\} (\\S+)$`, 'gm'));
  return new Map([...lines].map(([, value = '', count]) => [value, Number(count)]));
}

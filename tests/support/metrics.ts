import type { TestApp } from './app.ts';

/** The value of a metric without labels, as `/metrics` has it. */
export async function readMetric({ fetch }: Pick<TestApp, 'fetch'>, name: string): Promise<number> {
  const text = await (await fetch('/metrics')).text();
  const value = new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1];
  if (value === undefined) throw new Error(`there is no metric ${name}`);
  return Number(value);
}

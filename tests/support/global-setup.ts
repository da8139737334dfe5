import type { TestProject } from 'vitest/node';
import { createTemplate, type Template } from './database/template.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    template: Template;
  }
}

export default async function setup({ vitest }: TestProject): Promise<(() => Promise<void>) | undefined> {
  const root = vitest.getRootProject();
  // The suites of a run share it.
  if ('template' in root.getProvidedContext()) return undefined;
  if (process.env.PROPERTY_SEED === undefined) {
    // The workers inherit it.
    process.env.PROPERTY_SEED = String(Math.floor(Math.random() * 2 ** 31));
    process.stdout.write(`PROPERTY_SEED=${process.env.PROPERTY_SEED} repeats what is drawn in this run.\n`);
  }
  const { template, drop } = await createTemplate();
  root.provide('template', template);
  return drop;
}

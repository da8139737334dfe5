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
  const { template, drop } = await createTemplate();
  root.provide('template', template);
  return drop;
}

import type { TestProject } from 'vitest/node';
import { createTemplate, type Template } from './database/template.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    template: Template;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { template, drop } = await createTemplate();
  project.provide('template', template);
  return drop;
}

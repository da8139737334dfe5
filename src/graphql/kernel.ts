import { createBuilder } from './builder.ts';
import './node/builder-methods.ts';
import { defineNode } from './node/node-type.ts';
import { definePageInfo } from './pagination/slice.ts';

/** The builder of one schema, with the types that all modules use. */
export function createKernel() {
  const builder = createBuilder();
  return { builder, Node: defineNode(builder), PageInfo: definePageInfo(builder) };
}

export type Kernel = ReturnType<typeof createKernel>;

import { figure, table } from '../report/markdown.ts';
import type { Bar } from '../report/svg.ts';
import type { Scene } from './scene.ts';

/** Something that is aimed at: a figure that is not to be passed. */
export interface Aim {
  readonly what: string;
  readonly most: number;
  readonly measured: number;
}

/** What a part of the benchmark has to say. */
export interface Part {
  /** A subsection. */
  readonly text: string;
  readonly aims: readonly Aim[];
  /** For the chart. */
  readonly bars?: readonly Bar[];
}

export type RunPart = (scene: Scene, cleanup: AsyncDisposableStack) => Promise<Part>;

export const isMet = ({ most, measured }: Aim): boolean => measured <= most;

export function aimsTable(aims: readonly Aim[]): string {
  return table(
    ['aim', 'at most', 'measured', 'met'],
    aims.map((aim) => [
      aim.what,
      `${aim.most.toLocaleString('en')}`,
      figure(aim.measured),
      isMet(aim) ? 'yes' : 'no (!)',
    ]),
  );
}

export const people = (subscribers: number): string => subscribers.toLocaleString('en');

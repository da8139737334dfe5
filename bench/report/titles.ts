import type { Figures } from '../harness/measure.ts';

interface Title {
  /** Of its table and its chart. */
  readonly ratio: string;
  readonly better: string;
  /** Of the floor's own figures. */
  readonly unit: string;
  /** Of the chart's file. */
  readonly file: string;
}

const LESS = 'less is better';

/** How the report calls what is measured. */
export const TITLES: Readonly<Record<keyof Figures, Title>> = {
  nodeCpuMs: {
    ratio: 'Node CPU a request ÷ floor',
    better: LESS,
    unit: 'Node CPU, ms a request',
    file: 'node-cpu.svg',
  },
  databaseCpuMs: {
    ratio: 'Database CPU a request ÷ floor',
    better: LESS,
    unit: 'database CPU, ms a request',
    file: 'database-cpu.svg',
  },
  perSecond: {
    ratio: 'Requests a second ÷ floor',
    better: 'more is better',
    unit: 'requests a second',
    file: 'requests.svg',
  },
  p50Ms: { ratio: 'p50 ÷ floor', better: LESS, unit: 'p50, ms', file: 'p50.svg' },
  p99Ms: { ratio: 'p99 ÷ floor', better: LESS, unit: 'p99, ms', file: 'p99.svg' },
};

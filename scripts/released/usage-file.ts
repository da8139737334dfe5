import { z } from 'zod';

const USE = z.object({
  element: z.string(),
  client: z.string(),
  clientName: z.string().nullable(),
  kind: z.string(),
  release: z.string().nullable(),
  lastUsedAt: z.coerce.date(),
  count: z.number(),
});
const DOCUMENT = z.object({
  id: z.string(),
  client: z.string(),
  release: z.string().nullable(),
  elements: z.array(z.string()),
});
const REPORT = z.object({
  createdAt: z.coerce.date(),
  since: z.coerce.date(),
  usage: z.array(USE),
  documents: z.array(DOCUMENT),
});

/** What `admin deprecation report` prints. */
export type Usage = z.infer<typeof REPORT>;

/** Reads a report. Throws an error with a message for people if it is none. */
export function parseUsage(text: string): Usage {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Error('it is no JSON; give the output of "npm run -s admin -- deprecation report"');
  }
  const { data, error } = REPORT.safeParse(json);
  if (data !== undefined) return data;
  const [issue] = error.issues;
  throw new Error(
    `it is no report: ${issue?.path.join('.')} ${issue?.message}; give the output of "npm run -s admin -- deprecation report"`,
  );
}

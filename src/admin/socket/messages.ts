import type { Readable } from 'node:stream';
import { z } from 'zod';

const terminal = z.object({ isTTY: z.boolean().optional(), columns: z.number().optional() });

/** A command, as the client sends it. */
export const commandRequest = z.object({
  args: z.array(z.string()),
  operator: z.object({ user: z.string(), host: z.string() }),
  /** What the client has read for the command, such as a password. */
  inputs: z.record(z.string(), z.string()),
  stdout: terminal,
  stderr: terminal,
});
export type CommandRequest = Readonly<z.infer<typeof commandRequest>>;

/** What the server sends: that the command begins, its output, its end. */
export const commandReply = z.union([
  z.object({ begun: z.literal(true) }),
  z.object({ stdout: z.string() }),
  z.object({ stderr: z.string() }),
  z.object({ exitCode: z.number() }),
]);
export type CommandReply = Readonly<z.infer<typeof commandReply>>;

/** A message on a line of its own. JSON has no line break within. */
export const encodeLine = (message: CommandRequest | CommandReply): string => `${JSON.stringify(message)}\n`;

/** Files of documents come in a request. */
const MAX_LENGTH = 268_435_456;

/** The messages of a socket. Throws SyntaxError for a line that is not JSON, RangeError for one that is too long. */
export async function* readLines(socket: Readable): AsyncGenerator<unknown> {
  let rest = '';
  for await (const chunk of socket.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LENGTH) throw new RangeError('a message is too long');
    for (const line of lines) yield JSON.parse(line);
  }
}

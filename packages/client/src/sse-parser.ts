/** The fields between two blank lines of an event stream. */
export interface SseBlock {
  readonly id?: string;
  readonly event?: string;
  readonly retry?: string;
  readonly data?: string;
}

/**
 * Creates a parser of an event stream. Unlike `EventSource`, it returns blocks without `data` too: their `id` moves the
 * position.
 * @returns a function that takes the next part of the stream and returns the blocks that end in the part
 */
export function createSseParser(): (part: string) => SseBlock[] {
  let rest = '';
  let endedWithCr = false;
  let fields: { id?: string; event?: string; retry?: string; data?: string } = {};

  function addField(line: string): void {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') fields.data = fields.data === undefined ? value : `${fields.data}\n${value}`;
    else if (name === 'id' || name === 'event' || name === 'retry') fields[name] = value;
  }

  return (part) => {
    // A line ends with CR, LF or both (HTML §9.2.6). A part may begin with the LF of a CR in the part before.
    const text = endedWithCr && part.startsWith('\n') ? part.slice(1) : part;
    if (part !== '') endedWithCr = part.endsWith('\r');
    const lines = (rest + text).split(/\r\n|\r|\n/);
    rest = lines.pop() ?? '';
    const blocks: SseBlock[] = [];
    for (const line of lines) {
      if (line !== '') addField(line);
      else if (Object.keys(fields).length > 0) {
        blocks.push(fields);
        fields = {};
      }
    }
    return blocks;
  };
}

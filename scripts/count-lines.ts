/** Counts lines with code. A comment counts as one only if it fills its lines, as the formatter leaves it. */
export function countLines(text: string, extension: string): number {
  const lineComment = extension === '.sql' ? '--' : extension === '.sh' ? '#' : '//';
  let inComment = false;
  let lines = 0;
  for (const line of text.split('\n')) {
    const code = line.trim();
    if (inComment) {
      inComment = !code.endsWith('*/');
      continue;
    }
    if (code === '' || code.startsWith(lineComment)) continue;
    if (code.startsWith('/*') || code.startsWith('{/*')) {
      inComment = !/\*\/\}?$/.test(code);
      continue;
    }
    lines += 1;
  }
  return lines;
}

/** A table as GitHub's Markdown writes it. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}

/** A figure with about three digits that count; a dash where there is none. */
export function figure(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 100) return value.toFixed(0);
  return Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** The median of some values, and the quarter of them on either side of it. */
export function spread(values: readonly number[]): string {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  const at = (share: number) => figure(sorted[Math.round(share * (sorted.length - 1))]);
  return sorted.length === 0 ? '–' : `${at(0.5)} (${at(0.25)}–${at(0.75)})`;
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(0)} MiB`;
}

/** The names of the computed fields that read a property, by the property. Filled when the schema is built. */
const readers = new Map<string, Set<string>>();

export function noteReader(property: string, field: string): void {
  readers.set(property, (readers.get(property) ?? new Set()).add(field));
}

/** Whether an operation with fields of these names reads a property. */
export const isRead = (property: string, names: ReadonlySet<string>): boolean =>
  names.has(property) || [...(readers.get(property) ?? [])].some((name) => names.has(name));

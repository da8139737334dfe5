/** An instant in PostgreSQL's format, including the years to which ISO 8601 adds a sign. */
export function instantText(date: Date): string {
  const text = date.toISOString();
  const year = date.getUTCFullYear();
  if (year >= 1 && year <= 9999) return text;
  const rest = text.slice(text.indexOf('-', 1));
  return year < 1 ? `${String(1 - year).padStart(4, '0')}${rest} BC` : `${year}${rest}`;
}

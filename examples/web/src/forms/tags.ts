/** Tags as they are typed: separated by commas. One with a comma, a quote or spaces around it stands in quotes. */
export function tagText(tags: readonly string[]): string {
  const written = (tag: string) =>
    /[,"]/.test(tag) || tag.trim() !== tag ? `"${tag.replaceAll('"', '""')}"` : tag;
  return tags.map(written).join(', ');
}

/** The tags in a text. */
export function tagsIn(text: string): string[] {
  const found = text.matchAll(/\s*(?:"((?:[^"]|"")*)"\s*(?=,|$)|([^,]*))(?:,|$)/g);
  return Array.from(found, ([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain.trim()).filter(
    (tag) => tag !== '',
  );
}

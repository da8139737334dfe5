/** The userinfo of a URL (RFC 3986 section 3.2.1), except that of the examples in messages. */
const USER_INFORMATION = /(:\/\/)(?!user:password@host\b)[^\s/?#"'\\]*@/g;

/** The text without the user names and passwords of the URLs in it. */
export function withoutUserInformation(text: string): string {
  return text.includes('@') ? text.replaceAll(USER_INFORMATION, '$1') : text;
}

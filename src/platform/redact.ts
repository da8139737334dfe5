/** User information in addresses (RFC 3986 section 3.2.1). */
const USER_INFORMATION = /(:\/\/)[^\s/?#"'\\]*@/g;

/** The text with every address in it as it may be shown: without the name and the password that it is entered with. */
export function withoutUserInformation(text: string): string {
  return text.includes('@') ? text.replaceAll(USER_INFORMATION, '$1') : text;
}

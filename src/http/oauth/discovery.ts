/** The library's metadata for OpenID Connect, which is not offered here. */
const OPENID = new Set([
  'acr_values_supported',
  'claim_types_supported',
  'claims_parameter_supported',
  'claims_supported',
  'id_token_signing_alg_values_supported',
  'request_uri_parameter_supported',
  'subject_types_supported',
]);

/** The authorization server metadata (RFC 8414): the library's, without OpenID Connect. */
export function metadataOf(document: Record<string, unknown>): Record<string, unknown> {
  const kept = Object.entries(document).filter(([name]) => !OPENID.has(name));
  const scopes = (document.scopes_supported as readonly string[] | undefined) ?? [];
  return {
    ...Object.fromEntries(kept),
    scopes_supported: scopes.filter((scope) => scope !== 'openid'),
  };
}

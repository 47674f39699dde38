/**
 * All errors of the service by their machine-readable code, with status and title. A code has one status, except
 * `request_timeout` and `invalid_request`, which may have other statuses (408 for a client that stops sending, 431 for
 * oversized headers).
 */
export const CATALOGUE = {
  invalid_query: { status: 400, title: 'Invalid query parameter' },
  invalid_request: { status: 400, title: 'Invalid request' },
  invalid_base64: { status: 400, title: 'Invalid base64' },
  base_path_escaped: { status: 400, title: 'Path leaves the registered base path' },

  token_missing: { status: 401, title: 'Credential missing' },
  token_malformed: { status: 401, title: 'Credential malformed' },
  token_rejected: { status: 401, title: 'Access token rejected' },
  token_expired: { status: 401, title: 'Access token expired' },
  token_not_yet_valid: { status: 401, title: 'Access token not yet valid' },
  token_service_account_unbound: { status: 401, title: 'Service account has no workspace' },
  alg_mismatch: { status: 401, title: 'Signature algorithm does not match the key' },
  alg_not_allowed: { status: 401, title: 'Signature algorithm not allowed' },
  audience_mismatch: { status: 401, title: 'Access token issued for another audience' },
  invalid_api_key: { status: 401, title: 'Invalid API key' },
  missing_identity: { status: 401, title: 'Access token has no subject' },
  missing_org: { status: 401, title: 'Access token has no organization' },
  missing_user: { status: 401, title: 'Access token has no user' },
  signature_invalid: { status: 401, title: 'Signature invalid' },
  unauthorized: { status: 401, title: 'Not authenticated' },
  unknown_account: { status: 401, title: 'Unknown account' },
  unknown_key: { status: 401, title: 'Unknown signing key' },
  untrusted_issuer: { status: 401, title: 'Issuer not trusted' },

  access_denied: { status: 403, title: 'Access denied' },
  account_suspended: { status: 403, title: 'Account suspended' },
  forbidden: { status: 403, title: 'Forbidden by policy' },
  platform_principal_refused: { status: 403, title: 'Platform principals cannot access tenant data' },

  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  conflict: { status: 409, title: 'Conflict' },
  precondition_failed: { status: 412, title: 'Precondition failed' },
  payload_too_large: { status: 413, title: 'Payload too large' },
  compressed_payload_too_large: { status: 413, title: 'Payload too large after decoding' },
  unsupported_media_type: { status: 415, title: 'Unsupported media type' },
  unsupported_content_encoding: { status: 415, title: 'Unsupported content encoding' },
  range_not_satisfiable: { status: 416, title: 'Range not satisfiable' },
  validation_failed: { status: 422, title: 'Validation failed' },
  immutable_field: { status: 422, title: 'Immutable field' },
  rate_limited: { status: 429, title: 'Limit reached' },

  internal_error: { status: 500, title: 'Internal error' },
  auth_unavailable: { status: 503, title: 'Authentication unavailable' },
  service_overloaded: { status: 503, title: 'Service overloaded' },
  service_unavailable: { status: 503, title: 'Service unavailable' },
  storage_unavailable: { status: 503, title: 'Storage unavailable' },
  request_timeout: { status: 504, title: 'Request timed out' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof CATALOGUE;

/** The codes of a failed authentication. */
export const AUTHENTICATION_CODES = (Object.keys(CATALOGUE) as ProblemCode[]).filter(
  (code) => CATALOGUE[code].status === 401,
);

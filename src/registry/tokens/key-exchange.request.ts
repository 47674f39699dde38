import { API_KEY_PREFIX } from '#platform/auth';
import type { ServiceRequest } from '#platform/http';
import { problem } from '#platform/problem';
import { readFormOrJson } from './form-or-json';
import { TokenRequestDto } from './token.dto';

/** A request to exchange an API key for a token. */
export interface KeyExchange {
  apiKey: string;
  /** The service account that the client names, if any. */
  clientId: string | undefined;
}

/**
 * Reads the client credentials grant of RFC 6749, section 4.4. The key is `client_secret` or `api_key` in the body (a form or
 * JSON), or is in the `Authorization` header with HTTP Basic (section 2.3.1) or Bearer. Errors: 400 for another grant, 400 for
 * no key or several, 415 for another media type.
 */
export function readKeyExchange(request: ServiceRequest): KeyExchange {
  const inHeader = credentialsOf(request.headers.authorization);
  const dto = readFormOrJson(TokenRequestDto, request);
  const keys = [dto.client_secret, dto.api_key, inHeader?.apiKey].filter((key) => key !== undefined);
  if (dto.grant_type !== 'client_credentials' && (dto.grant_type !== undefined || !dto.api_key)) {
    const rejection = problem.invalidField('/grant_type', 'must be client_credentials');
    throw dto.grant_type === undefined
      ? rejection
      : rejection.withMembers({ error: 'unsupported_grant_type' });
  }
  const [apiKey] = keys;
  if (apiKey === undefined || keys.length > 1) {
    const detail =
      keys.length > 1
        ? 'is sent twice. Send the API key once'
        : 'must be the API key. You can also send it as `api_key`, or with HTTP Basic authentication';
    throw problem.invalidField('/client_secret', detail);
  }
  if (inHeader?.clientId && dto.client_id !== undefined && dto.client_id !== inHeader.clientId) {
    const detail =
      'differs from the client id in the `Authorization` header. Leave it out, or send the same value';
    throw problem.invalidField('/client_id', detail);
  }
  return { apiKey, clientId: dto.client_id ?? (inHeader?.clientId || undefined) };
}

function credentialsOf(header: string | undefined): { clientId: string; apiKey: string } | null {
  const [, scheme, credentials] = /^(basic|bearer) +(\S+)$/i.exec(header ?? '') ?? [];
  if (scheme === undefined || credentials === undefined) return null;
  if (scheme.toLowerCase() === 'bearer') {
    return credentials.startsWith(API_KEY_PREFIX) ? { clientId: '', apiKey: credentials } : null;
  }
  const [id, ...secret] = Buffer.from(credentials, 'base64').toString('utf8').split(':');
  return { clientId: formDecoded(id ?? ''), apiKey: formDecoded(secret.join(':')) };
}

/** Decodes the id or secret of Basic credentials, which OAuth clients form-encode first (RFC 6749, section 2.3.1). */
function formDecoded(text: string): string {
  try {
    return decodeURIComponent(text.replace(/\+/g, ' '));
  } catch {
    return text;
  }
}

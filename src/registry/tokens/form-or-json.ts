import { parseBody, type ServiceRequest, validateBody } from '#platform/http';
import { pointerToken } from '#platform/json';
import { Problem, problem } from '#platform/problem';

const MEDIA = /^application\/(x-www-form-urlencoded|json)\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i;

/** Maximum body size of the OAuth 2 endpoints, in bytes: enough for a token of 8 KiB and the other parameters. */
export const OAUTH_BODY_BYTES = 16 * 1024;

/**
 * Reads a body that is a form, as OAuth 2 clients send it, or JSON. Ignores unknown form parameters, as RFC 6749, section 3.2
 * requires. Errors: 415 for another media type, 400 for a malformed body, an unknown JSON member, or a parameter that is sent
 * twice.
 */
export function readFormOrJson<Dto extends object>(
  type: new () => Dto,
  { headers, rawBody }: ServiceRequest,
): Dto {
  const media = MEDIA.exec(headers['content-type'] ?? '')?.[1]?.toLowerCase();
  if (!media) {
    throw new Problem(
      'unsupported_media_type',
      'Send the body as application/x-www-form-urlencoded or application/json.',
    );
  }
  const bytes = rawBody ?? Buffer.alloc(0);
  return media === 'json'
    ? validateBody(type, parseBody(bytes))
    : validateBody(type, formOf(bytes), '', 'ignore');
}

function formOf(bytes: Buffer): Record<string, string> {
  const parameters = [...new URLSearchParams(bytes.toString('utf8'))].filter(([, value]) => value !== '');
  const names = new Set<string>();
  for (const [name] of parameters) {
    if (names.has(name)) throw problem.invalidField(`/${pointerToken(name)}`, 'is sent twice. Send it once');
    names.add(name);
  }
  return Object.fromEntries(parameters);
}

import { JsonInputError, parseUnambiguously } from '#platform/json';

/** Tokens longer than this are malformed. Base64url is ASCII: characters are bytes. */
export const MAX_TOKEN_LENGTH = 8 * 1024;

/** The token is not a well-formed signed JWT. The message continues "The token …". */
export class JwsError extends Error {}

/** A signed JWT (RFC 7515, compact serialization), read but not verified. */
export interface Jws {
  readonly text: string;
  readonly header: {
    /** Unchecked: of any type, or absent. */
    readonly alg: unknown;
    readonly kid: string | undefined;
    readonly typ: string | undefined;
    readonly hasCrit: boolean;
  };
  readonly claims: Readonly<Record<string, unknown>>;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Parses a token. Rejects everything that parsers read differently: base64url that is not canonical, JSON that names a
 * member twice, bytes that are not UTF-8. Throws `JwsError`.
 */
export function parseJws(text: string): Jws {
  if (text.length > MAX_TOKEN_LENGTH) throw new JwsError('is longer than 8 KiB');
  const parts = text.split('.');
  if (parts.length !== 3) throw new JwsError('is neither an API key (`rsk_…`) nor a JWT');
  // An empty signature, as in an unsecured JWT, is valid base64url. The check of the algorithm rejects it.
  const [headerBytes, claimBytes] = parts.map(base64url) as [Buffer, Buffer, Buffer];
  const header = jsonObject(headerBytes, 'header');
  const claims = jsonObject(claimBytes, 'payload');
  return {
    text,
    header: {
      alg: header['alg'],
      kid: optionalText(header, 'kid'),
      typ: optionalText(header, 'typ'),
      hasCrit: Object.hasOwn(header, 'crit'),
    },
    claims,
  };
}

/** Decodes canonical base64url (RFC 7515, section 2: no padding, no white space) and nothing else. */
function base64url(part: string): Buffer {
  const bytes = Buffer.from(part, 'base64url');
  if (bytes.toString('base64url') !== part) throw new JwsError('must be base64url without padding');
  return bytes;
}

function jsonObject(bytes: Buffer, part: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseUnambiguously(utf8.decode(bytes));
  } catch (error) {
    const isAmbiguous = error instanceof JsonInputError && error.syntaxFault === undefined;
    throw new JwsError(`must have ${isAmbiguous ? 'unambiguous ' : ''}JSON in its ${part}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new JwsError(`must have a JSON object as its ${part}`);
  }
  return value as Record<string, unknown>;
}

function optionalText(header: Record<string, unknown>, name: string): string | undefined {
  if (!Object.hasOwn(header, name)) return undefined;
  const value = header[name];
  if (typeof value !== 'string') throw new JwsError(`has a header whose ${name} is not a string`);
  return value;
}

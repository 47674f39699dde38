import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { API_KEY_PREFIX } from '#platform/auth';
import { Problem } from '#platform/problem';
import { TokenProblemDto } from './token.dto';

/** The characters that `error_description` must not contain (RFC 6749, section 5.2). */
const NOT_IN_DESCRIPTIONS = /[^\x20\x21\x23-\x5b\x5d-\x7e]/g;

/**
 * Returns an error in the form for OAuth 2 clients (RFC 6749, section 5.2): the problem with an `error` member, and for 401 a
 * challenge with the scheme that the client used.
 */
export function oauthError(error: unknown, authorization = ''): unknown {
  if (!(error instanceof Problem)) return error;
  const description = { error_description: error.detail.replace(NOT_IN_DESCRIPTIONS, "'") };
  if (error.status === 400) return error.withMembers({ error: 'invalid_request', ...description });
  if (error.status !== 401) return error;
  return error.withMembers(
    { error: 'invalid_client', ...description },
    { 'WWW-Authenticate': challengeOf(authorization) },
  );
}

function challengeOf(authorization: string): string {
  if (/^basic( |$)/i.test(authorization)) return 'Basic realm="tokens"';
  const [, credential] = /^bearer +(\S+)$/i.exec(authorization) ?? [];
  return credential?.startsWith(API_KEY_PREFIX) ? 'Bearer error="invalid_token"' : 'Bearer';
}

const content = { 'application/problem+json': { schema: { $ref: getSchemaPath(TokenProblemDto) } } };

/** Documents the responses of `oauthError` on an operation. */
export const ApiOAuthErrors = () =>
  applyDecorators(
    ApiExtraModels(TokenProblemDto),
    ApiResponse({ status: 400, description: '', content }),
    ApiResponse({
      status: 401,
      description: 'The key is invalid, or does not belong to `client_id`.',
      content,
      headers: {
        'WWW-Authenticate': {
          description:
            '`Basic realm="tokens"` if the key was sent with HTTP Basic. Otherwise `Bearer`, with `error="invalid_token"` if the key was sent as a bearer token.',
          required: true,
          schema: { type: 'string' },
        },
      },
    }),
  );

import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { API_KEY_PREFIX } from '#platform/auth';
import { Problem } from '#platform/problem';
import { TokenProblemDto } from './token.dto';

/**
 * What went wrong in an exchange, as OAuth 2 clients read it (RFC 6749, section 5.2): the problem with an `error`
 * member, and for a client that is not authenticated a challenge of the scheme by which it tried.
 */
export function oauthError(error: unknown, authorization = ''): unknown {
  if (!(error instanceof Problem)) return error;
  if (error.status === 400) return error.extended({ error: 'invalid_request' });
  if (error.status !== 401) return error;
  return error.extended({ error: 'invalid_client' }, { 'WWW-Authenticate': challengeOf(authorization) });
}

function challengeOf(authorization: string): string {
  if (/^basic( |$)/i.test(authorization)) return 'Basic realm="tokens"';
  const [, credential] = /^bearer +(\S+)$/i.exec(authorization) ?? [];
  return credential?.startsWith(API_KEY_PREFIX) ? 'Bearer error="invalid_token"' : 'Bearer';
}

const content = { 'application/problem+json': { schema: { $ref: getSchemaPath(TokenProblemDto) } } };

/** On an operation whose errors are those of `oauthError`. */
export const AnswersOAuthErrors = () =>
  applyDecorators(
    ApiExtraModels(TokenProblemDto),
    ApiResponse({ status: 400, description: '', content }),
    ApiResponse({
      status: 401,
      description: 'The key does not hold, or is not that of the client.',
      content,
      headers: {
        'WWW-Authenticate': {
          description:
            '`Basic realm="tokens"` where the key was sent by HTTP Basic, else `Bearer`, with `error="invalid_token"` where it was sent as a bearer.',
          required: true,
          schema: { type: 'string' },
        },
      },
    }),
  );

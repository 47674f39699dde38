import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import type { ServiceRequest } from '#platform/http';
import { problem } from '#platform/problem';
import { isName, NAME_MAX } from '../semantics/figure.parser';

/**
 * The session that the path names: any text of 1 to 255 characters, which agents make up themselves, so that the form of
 * the service's own ids is not asked of it. Error: 404 for what no session can be called.
 */
export const SessionId = createParamDecorator((_: unknown, context: ExecutionContext): string => {
  const id = String(context.switchToHttp().getRequest<ServiceRequest>().params.session_id);
  if (!isName(id) || id.includes('\0')) throw problem.notFound('session');
  return id;
});

/** Of routes with such a path. */
export const NamesSession = () =>
  ApiParam({
    name: 'session_id',
    description: 'As agents name it, percent-encoded.',
    schema: { type: 'string', minLength: 1, maxLength: NAME_MAX },
  });

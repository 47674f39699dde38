import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { problem } from '#platform/problem';
import type { ServiceRequest } from './request-context';

/** The `If-Match` of a request, as sent; undefined where it has none. */
export const IfMatch = createParamDecorator((_: unknown, context: ExecutionContext): string | undefined => {
  return context.switchToHttp().getRequest<ServiceRequest>().headers['if-match'];
});

const STRONG = /^"[^"]*"$/;

/**
 * Throws 412 when a condition was sent and does not name the present version (RFC 9110, section 13.1.1: strong
 * comparison, a list of tags, or `*`). Without a condition the edit proceeds.
 */
export function checkIfMatch(condition: string | undefined, version: number): void {
  if (condition === undefined || condition.trim() === '*') return;
  const tags = condition.split(',').map((tag) => tag.trim());
  if (tags.includes(`"${version}"`)) return;
  throw problem.preconditionFailed(
    tags.every((tag) => STRONG.test(tag))
      ? `The resource has changed since: its ETag is "${version}".`
      : `If-Match takes strong ETags with their quotes. That of the resource is "${version}".`,
  );
}

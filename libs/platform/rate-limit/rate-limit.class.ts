import { type ExecutionContext, SetMetadata } from '@nestjs/common';
import type { Reflector } from '@nestjs/core';
import { isRead } from '#platform/auth';
import type { ServiceRequest } from '#platform/http';

/** The classes of requests that are counted for each organization and principal. */
export type RateLimitClass = 'reads' | 'writes' | 'telemetry' | 'proxy' | 'store_listing';

const RATE_LIMIT_CLASS = 'rate-limit:class';

/**
 * Counts the requests of a route, or of all routes of a controller, in this class. Other routes that require a caller
 * count as `reads` or `writes`.
 */
export const RateLimited = (name: RateLimitClass) => SetMetadata(RATE_LIMIT_CLASS, name);

/**
 * Returns the class of a request: the declared one, else `reads` for GET, HEAD and operations that only read, else
 * `writes`. Returns undefined for public routes, which have no principal.
 */
export function rateLimitClassOf(
  reflector: Reflector,
  context: ExecutionContext,
): RateLimitClass | undefined {
  const { method, rule } = context.switchToHttp().getRequest<ServiceRequest>();
  if (rule?.kind === 'public') return undefined;
  const declared = reflector.getAllAndOverride<RateLimitClass | undefined>(RATE_LIMIT_CLASS, [
    context.getHandler(),
    context.getClass(),
  ]);
  if (declared) return declared;
  return method === 'GET' || method === 'HEAD' || isRead(rule) ? 'reads' : 'writes';
}

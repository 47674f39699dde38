import { createHash } from 'node:crypto';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { RawJson } from '#platform/json';
import { problem } from '#platform/problem';
import type { ServiceRequest } from './request-context';

/** Injects the `If-Match` header as sent; undefined when absent. */
export const IfMatch = createParamDecorator((_: unknown, context: ExecutionContext): string | undefined => {
  return context.switchToHttp().getRequest<ServiceRequest>().headers['if-match'];
});

/** Number of hexadecimal digits of a digest in an ETag. */
const DIGEST_LENGTH = 16;
const SHOWN = new RegExp(`-[0-9a-f]{${DIGEST_LENGTH}}"$`);

/**
 * Returns the version for the ETag of a resource whose view also shows values that change without it, such as scores. The
 * ETag covers these values, but `If-Match` compares only the generation. If all of them are empty, it is the generation.
 *
 * @param shown JSON objects
 */
export function versionShowing(generation: number, shown: readonly RawJson[]): string | number {
  if (shown.every(({ text }) => text === '{}')) return generation;
  const hash = createHash('sha256');
  for (const { text } of shown) hash.update(text).update('\0');
  return `${generation}-${hash.digest('hex').slice(0, DIGEST_LENGTH)}`;
}

/**
 * Throws 412 when a condition was sent and does not name the current version: a list of ETags, or `*` (RFC 9110, section
 * 13.1.1). A weak tag counts as the strong one, because proxies weaken ETags. Without a condition the edit proceeds.
 *
 * @param changed the detail if the ETag is another one
 */
export function checkIfMatch(
  condition: string | undefined,
  version: string | number,
  changed = `The resource has changed. Its ETag is now "${version}". Read it again before you change it.`,
): void {
  if (condition === undefined || condition.trim() === '*') return;
  const tags = condition.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  if (tags.some((tag) => tag.replace(SHOWN, '"') === `"${version}"`)) return;
  throw problem.preconditionFailed(
    tags.every((tag) => /^"[^"]*"$/.test(tag))
      ? changed
      : `If-Match takes ETags in double quotes. The current ETag is "${version}".`,
  );
}

/** Returns whether `If-None-Match`, a list of tags or `*`, names an ETag by weak comparison (RFC 9110, section 13.1.2). */
export function namesETag(condition: string | undefined, etag: string): boolean {
  if (condition === undefined) return false;
  if (condition.trim() === '*') return true;
  return condition.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

/** OpenAPI headers of a response that carries an ETag. Reads, patches and creations of versioned resources have it by default. */
export const ETAG_HEADER = {
  ETag: { description: 'Identifies this state of the resource.', required: true, schema: { type: 'string' } },
} as const;

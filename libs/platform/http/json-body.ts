import type { ByteLease } from '#platform/concurrency';
import { parsedSizeOf, parseJson, typedJson, VALUES_MAX } from '#platform/json';
import type { Constructor } from './members';
import { shapeOf } from './validation';
import { orProblem, validateBody } from './validation.pipe';

/** Size up to which the memory of a body's values is not counted, in bytes. */
const UNCOUNTED = 4 * 1024;

/**
 * Parses a JSON body. Numbers that JavaScript would change are `RawJson`s until the body is validated.
 *
 * @param type the DTO that the body will be validated against
 * @param lease grows by the memory of the parsed values
 * @throws Problem 400 with a pointer to the invalid place, 413 for a body with too many values
 */
export function parseBody(bytes: Buffer, type?: Constructor, lease?: ByteLease): unknown {
  if (lease && bytes.length > UNCOUNTED) lease.grow(parsedSizeOf(bytes, VALUES_MAX));
  return orProblem(() => parseJson(bytes, type && shapeOf(type).separate));
}

/** Parses a JSON body without free-form members. */
export const parsePlain = (bytes: Buffer): unknown => orProblem(() => typedJson(parseJson(bytes)));

/** Parses and validates a JSON body. Throws the errors of both. */
export const readJson = <Dto extends object>(bytes: Buffer, type: new () => Dto): Dto =>
  validateBody(type, parseBody(bytes, type));

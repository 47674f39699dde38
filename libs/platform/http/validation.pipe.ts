import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { InvalidJson, JsonInputError, typedJson } from '#platform/json';
import { type FieldError, Problem, problem } from '#platform/problem';
import {
  checkValues,
  ERRORS_MAX,
  fieldErrors,
  instantiate,
  shapeOf,
  type UnknownMembers,
  valueErrors,
} from './validation';

type Constructor = new () => object;

const PRIMITIVES = new Set<unknown>([String, Number, Boolean, Array, Object]);
const ID_FORM = /^[\x21-\x7e]{1,255}$/;

/**
 * Validates parameters by the decorators of their class.
 *
 * - Body: malformed members are 400 with JSON pointers, unknown enumerated values 422. Unknown members are 400, except
 *   members that `ReadOnlyMembersOf` declares.
 * - Query: unknown or malformed parameters are 400 `invalid_query`, unknown enumerated values 422.
 * - Path: a parameter that cannot be an id is 404.
 */
@Injectable()
export class ServiceValidationPipe implements PipeTransform {
  transform(value: unknown, { type, metatype, data }: ArgumentMetadata): unknown {
    if (type === 'param' && typeof value === 'string' && !ID_FORM.test(value))
      throw problem.notFound('resource');
    if (!metatype || PRIMITIVES.has(metatype) || data !== undefined) {
      return type === 'body' ? orProblem(() => typedJson(value)) : value;
    }
    if (type === 'body') return validateBody(metatype as Constructor, value);
    if (type === 'query') return validateQuery(metatype as Constructor, value as Record<string, unknown>);
    return value;
  }
}

/** Creates the DTO of a body, or of one item of a bulk body. Throws 400 with at most 100 faults, or 422. */
export function validateBody<Dto extends object>(
  type: new () => Dto,
  body: unknown,
  pointer = '',
  unknown: UnknownMembers = 'refuse',
): Dto {
  if (body instanceof InvalidJson) throw invalidJson(body.toError(pointer));
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw problem.invalidField(pointer, 'must be a JSON object');
  }
  const errors: FieldError[] = [];
  const dto = orProblem(
    () => instantiate(type, body as Record<string, unknown>, pointer, errors, unknown) as Dto,
  );
  errors.push(...fieldErrors(validateSync(dto, { forbidUnknownValues: false }), pointer));
  if (errors.length > 0) throw problem.invalidFields(errors.slice(0, ERRORS_MAX));
  if (!shapeOf(type).deferred) checkValues(dto);
  return dto;
}

/**
 * Creates the DTO of a PATCH from the valid body of a create. Leaves out a member that is null to get its default, if a PATCH
 * does not accept null. Throws the errors of `validateBody`.
 */
export function patchOf<Dto extends object>(type: new () => Dto, body: object): Dto {
  const refusesNull = (member: string): boolean =>
    validateSync(Object.assign(new type(), { [member]: null }), { forbidUnknownValues: false }).some(
      ({ property }) => property === member,
    );
  const members = Object.entries(body).filter(
    ([member, value]) => value !== undefined && (value !== null || !refusesNull(member)),
  );
  return validateBody(type, Object.fromEntries(members));
}

/** Returns a 400 with a pointer to the invalid place, or a 413. */
const invalidJson = ({ pointer, detail, isTooLarge }: JsonInputError): Problem =>
  isTooLarge
    ? new Problem('payload_too_large', detail)
    : problem.invalidRequest(detail, { errors: [{ pointer, detail }] });

/** Converts a `JsonInputError` to a problem. */
export function orProblem<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw error instanceof JsonInputError ? invalidJson(error) : error;
  }
}

function validateQuery(type: Constructor, query: Record<string, unknown>): object {
  const { members } = shapeOf(type);
  const unknown = Object.keys(query).filter((name) => !members.has(name));
  if (unknown.length > 0) throw unknownParameters(unknown);
  const unstorable = Object.keys(query).filter((name) => [query[name]].flat().some(hasNul));
  if (unstorable.length > 0) {
    throw problem.invalidQueries(
      unstorable.map((parameter) => ({ parameter, detail: 'must not contain a NUL character' })),
    );
  }
  const dto = plainToInstance(type, { ...query });
  const faults = fieldErrors(validateSync(dto, { forbidUnknownValues: false }));
  if (faults.length > 0) throw problem.invalidQueries(faults.map(asParameter));
  const values = valueErrors(dto, '');
  if (values.length > 0) throw problem.validationFailed(values.map(asParameter));
  return dto;
}

/** Returns a 400 for query parameters that the operation does not have. */
export const unknownParameters = (names: string[]): Problem =>
  problem.invalidQueries(
    names.map((name) => ({ parameter: name.slice(0, 100), detail: 'is not a parameter of this operation' })),
  );

/** PostgreSQL accepts no NUL character in a parameter. */
const hasNul = (value: unknown): boolean => typeof value === 'string' && value.includes('\0');

const asParameter = (error: FieldError): FieldError =>
  'pointer' in error ? { parameter: error.pointer.split('/')[1]!, detail: error.detail } : error;

/** Parses the number of a version in a path. Throws 404 for a text that cannot be one, as for an unknown version. */
export function pathNumber(text: string, kind: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw problem.notFound(kind, text);
  return Number(text);
}

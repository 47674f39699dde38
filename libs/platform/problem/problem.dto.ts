import { applyDecorators } from '@nestjs/common';
import { ApiExtension, ApiProperty } from '@nestjs/swagger';
import { CATALOGUE, type ProblemCode } from './catalogue';

/** One fault within a request. */
export class FieldErrorDto {
  /** JSON pointer (RFC 6901) into the body. */
  pointer?: string;
  /** Name of the query parameter, header or path parameter. */
  parameter?: string;
  detail!: string;
}

/** Problem details (RFC 9457): the body of every error. */
export class ProblemDto {
  title!: string;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0 })
  status!: number;
  /** Names the member, the rule that it breaks and the way to fix it. */
  detail!: string;
  /** Machine-readable code of the problem. */
  @ApiProperty({ enum: Object.keys(CATALOGUE) })
  code!: ProblemCode;
  /** The W3C trace id of the request. */
  trace_id?: string | null;
  errors?: FieldErrorDto[];
}

/** Prefix of the extensions that carry `@Throws()` to the OpenAPI document, which does not show them. */
export const THROWS_PREFIX = 'x-throws-';

/** Returns the extensions that `@Throws()` adds to an operation. For operations that are not routes of Nest. */
export const throwing = (...codes: readonly ProblemCode[]): Record<string, object> =>
  Object.fromEntries(codes.map((code) => [THROWS_PREFIX + code, { code }]));

/**
 * Declares the codes of a route, or of all routes of a controller, that do not follow from its other decorators. These
 * declare the access rule, the body, the workspace and the ids in the path.
 */
export const Throws = (...codes: readonly ProblemCode[]): MethodDecorator & ClassDecorator =>
  applyDecorators(...Object.entries(throwing(...codes)).map(([name, value]) => ApiExtension(name, value)));

/** Returns the OpenAPI schema of a problem with one of these codes. */
export const problemSchema = (codes: readonly ProblemCode[], schema = 'ProblemDto') => ({
  allOf: [{ $ref: `#/components/schemas/${schema}` }, { properties: { code: { enum: [...codes] } } }],
});

/** Returns the OpenAPI content of a response with one of these codes. */
export const problemContent = (codes: readonly ProblemCode[], schema?: string) => ({
  'application/problem+json': { schema: problemSchema(codes, schema) },
});
